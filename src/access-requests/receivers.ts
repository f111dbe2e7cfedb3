import { clusterNetwork, type Network } from '../http/network.ts';
import type { AccessContext } from './context.ts';
import { NoticeTerm } from './notices.ts';
import { Webhook } from './webhooks.ts';

/** Dependencies of notices. */
export interface NoticeNeeds {
  /** Addresses of webhooks, for tests. */
  readonly network: Network | undefined;
}

interface Receivers {
  /** Returns the term of a leader; undefined if nothing is told to anybody. */
  readonly term: (() => NoticeTerm) | undefined;
  stop(): Promise<void>;
}

/** Creates the receivers of the configuration. */
export function createReceivers(context: AccessContext, { network = clusterNetwork }: NoticeNeeds): Receivers {
  const { services } = context;
  const webhooks = services.config.accessRequests.webhooks.map((config) => new Webhook(services, config, network));
  return {
    term: webhooks.length > 0 ? () => new NoticeTerm(context, webhooks, undefined) : undefined,
    async stop() {
      await Promise.all(webhooks.map((webhook) => webhook.stop()));
    },
  };
}
