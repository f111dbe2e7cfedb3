import { hash } from 'node:crypto';
import { StatusError } from '../api/status.ts';
import { createEvent } from '../kubernetes/events.ts';
import type { Services } from '../services.ts';
import type { RefusedMap } from './plugin-map.ts';

/** Reports a refused ConfigMap to its author: a log line, and an Event that `kubectl describe` shows. */
export class PluginEvents {
  readonly #services: Services;
  readonly #stopping = new AbortController();

  constructor(services: Services) {
    this.#services = services;
  }

  /** Called once for each version of a ConfigMap. Never throws, because a lost Event is harmless. */
  refused({ configMap, refusal }: RefusedMap): void {
    const { namespace, name, resourceVersion } = configMap;
    const { log, config } = this.#services;
    log.warn({ namespace, configMap: name, resourceVersion, refusal }, 'a plugin ConfigMap is left out');
    if (!config.audit.kubernetesEvents) return;
    this.#create({ configMap, refusal }).catch((error: unknown) => {
      // Another replica has created the Event: its name contains a hash of the map's uid and version.
      if (error instanceof StatusError && error.status.code === 409) return;
      log.debug({ namespace, configMap: name, err: error }, 'an Event was lost');
    });
  }

  stop(): void {
    this.#stopping.abort(new Error('the service stops'));
  }

  #create({ configMap, refusal }: RefusedMap): Promise<void> {
    const { namespace, name, uid, resourceVersion } = configMap;
    const { client, now } = this.#services;
    const involvedObject = { apiVersion: 'v1', kind: 'ConfigMap', namespace, name, uid, resourceVersion };
    const suffix = hash('sha256', `${uid}.${resourceVersion}`).slice(0, 16);
    const message = `The files of this ConfigMap are not served: ${refusal}.`;
    const told = { type: 'Warning', reason: 'PluginRefused', message, action: 'Serve' } as const;
    return createEvent(client, { namespace, involvedObject, suffix, ...told, time: now() }, this.#stopping.signal);
  }
}
