import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import { StatusError } from '../http/status.ts';
import type { ServiceClient } from '../kubernetes/api-server.ts';
import { resourcePath } from '../kubernetes/resource.ts';
import type { RefusedMap } from './plugin-map.ts';

export interface PluginEventsOptions {
  client: ServiceClient;
  /** `audit.kubernetesEvents` */
  isRecording: boolean;
  log: Logger;
  now?: () => Date;
}

const eventType = { group: '', version: 'v1', resource: 'events' };
/** An object's name has at most 253 characters; a dot and 16 digits follow. */
const maxNameLength = 236;

/** Tells who wrote a plugin's ConfigMap that it is not served: a log line, and an Event that `kubectl describe` shows. */
export class PluginEvents {
  readonly #options: PluginEventsOptions;
  readonly #stopping = new AbortController();

  constructor(options: PluginEventsOptions) {
    this.#options = options;
  }

  /** Called once per version of a ConfigMap. Never throws: an Event that is lost fails nothing. */
  refused({ configMap, refusal }: RefusedMap): void {
    const { namespace, name, resourceVersion } = configMap;
    const { log, isRecording } = this.#options;
    log.warn({ namespace, configMap: name, resourceVersion, refusal }, 'a plugin ConfigMap is left out');
    if (!isRecording) return;
    this.#create({ configMap, refusal }).catch((error: unknown) => {
      // Another replica was first: the name says which version of which map is meant.
      if (error instanceof StatusError && error.status.code === 409) return;
      log.debug({ namespace, configMap: name, err: error }, 'an Event was lost');
    });
  }

  stop(): void {
    this.#stopping.abort(new Error('the service stops'));
  }

  /** @see https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/ (in the core group, where the parts are the same) */
  async #create({ configMap, refusal }: RefusedMap): Promise<void> {
    const { namespace, name, uid, resourceVersion } = configMap;
    const time = (this.#options.now?.() ?? new Date()).toISOString().replace(/\.\d+Z$/, 'Z');
    await this.#options.client.request({
      method: 'POST',
      path: resourcePath(eventType, { namespace }),
      call: 'create events',
      signal: this.#stopping.signal,
      body: {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: {
          namespace,
          name: `${name.slice(0, maxNameLength).replace(/[-.]+$/, '')}.${hash('sha256', `${uid}.${resourceVersion}`).slice(0, 16)}`,
        },
        involvedObject: { apiVersion: 'v1', kind: 'ConfigMap', namespace, name, uid, resourceVersion },
        type: 'Warning',
        reason: 'PluginRefused',
        message: `The files of this ConfigMap are not served: ${refusal}.`,
        action: 'Serve',
        source: { component: 'atrium' },
        reportingComponent: 'atrium',
        reportingInstance: 'atrium',
        firstTimestamp: time,
        lastTimestamp: time,
        count: 1,
      },
    });
  }
}
