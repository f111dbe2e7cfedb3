import { clusterNetwork, type Network } from '../http/network.ts';
import { isMailSet } from '../mail/mailer.ts';
import type { AccessContext } from './context.ts';
import { AccessMail, type Letterhead } from './notice-mail.ts';
import { NoticeTerm } from './notices.ts';
import { Webhook } from './webhooks.ts';

/** Dependencies of notices. */
export interface NoticeNeeds {
  readonly letterhead: Letterhead;
  /** Addresses of webhooks, for tests. */
  readonly network: Network | undefined;
}

interface Receivers {
  /** Returns the term of a leader; undefined without receivers. */
  readonly term: (() => NoticeTerm) | undefined;
  stop(): Promise<void>;
}

/** Creates the receivers of the configuration. */
export function createReceivers(context: AccessContext, { letterhead, network = clusterNetwork }: NoticeNeeds): Receivers {
  const { services } = context;
  const { accessRequests, server, smtp } = services.config;
  const webhooks = accessRequests.webhooks.map((config) => new Webhook(services, config, network));
  const isMailed = accessRequests.mail && isMailSet(smtp) && server.publicURL !== undefined;
  services.metrics.expectNotices([...webhooks.map(({ name }) => name), ...(isMailed ? ['mail'] : [])]);
  const newTerm = () => {
    const mail = isMailed ? new AccessMail(context, letterhead) : undefined;
    return new NoticeTerm(context, [...webhooks, ...(mail ? [mail] : [])], mail);
  };
  return {
    term: isMailed || webhooks.length > 0 ? newTerm : undefined,
    async stop() {
      await Promise.all(webhooks.map((webhook) => webhook.stop()));
    },
  };
}
