import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { ClusterAdmin } from '../../support/cluster-admin.ts';
import { eventually } from '../../support/cluster-admin.ts';

/** @see https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/#audit-k8s-io-v1-Event */
const event = z.object({
  requestReceivedTimestamp: z.iso.datetime(),
  verb: z.string(),
  requestURI: z.string(),
  /** User of the request; without a name if authentication failed. */
  user: z.object({ username: z.string().optional() }),
  impersonatedUser: z
    .object({
      username: z.string(),
      uid: z.string().optional(),
      groups: z.array(z.string()).optional(),
      extra: z.record(z.string(), z.array(z.string())).optional(),
    })
    .optional(),
  userAgent: z.string().optional(),
  objectRef: z
    .object({ resource: z.string(), subresource: z.string().optional(), namespace: z.string().optional(), name: z.string().optional() })
    .optional(),
  responseStatus: z.object({ code: z.number() }),
});
export type AuditEvent = z.infer<typeof event>;

/** User agent of all calls of the service. */
const userAgent = 'atrium';
const ownAccount = 'system:serviceaccount:atrium-system:atrium';

/** Audit log of kube-apiserver: the only evidence of the users in whose name it was called. */
export class AuditLog {
  readonly #path: string;
  readonly #admin: ClusterAdmin;
  #fences = 0;

  constructor(path: string, admin: ClusterAdmin) {
    this.#path = path;
    this.#admin = admin;
  }

  /** Returns the text of the log so far. */
  async text(): Promise<string> {
    this.#fences += 1;
    const fence = `/version?fence=${this.#fences}`;
    await this.#admin.call('GET', fence);
    return eventually(
      () => readFile(this.#path, 'utf8'),
      // The last line may be incomplete.
      (text) => text.includes(fence) && text.endsWith('\n'),
    );
  }

  /** Returns the events by arrival. The log is in the order of the answers, so a request may be logged after a later one. */
  async events(): Promise<AuditEvent[]> {
    const lines = (await this.text()).trimEnd().split('\n');
    const events = lines.map((line) => event.parse(JSON.parse(line)));
    return events.sort((one, other) => (one.requestReceivedTimestamp < other.requestReceivedTimestamp ? -1 : 1));
  }

  /** Returns the calls of the service in any name. A watch is logged when it ends. */
  async ofService(): Promise<AuditEvent[]> {
    return (await this.events()).filter((one) => one.userAgent === userAgent);
  }
}

export const isOwn = ({ user, impersonatedUser }: AuditEvent) => user.username === ownAccount && impersonatedUser === undefined;
export const isImpersonated = ({ user, impersonatedUser }: AuditEvent, name: string) =>
  user.username === ownAccount && impersonatedUser?.username === name;

/** Returns `VERB RESOURCE[/SUBRESOURCE]`, or `VERB PATH` of a non-resource request. */
export function what({ verb, objectRef, requestURI }: AuditEvent): string {
  if (objectRef === undefined) return `${verb} ${requestURI}`;
  const { resource, subresource } = objectRef;
  return `${verb} ${subresource ? `${resource}/${subresource}` : resource}`;
}

/** Returns the resources of watches that have ended. */
export const watches = (events: readonly AuditEvent[]) =>
  new Set(events.filter(({ verb }) => verb === 'watch').map(({ objectRef }) => objectRef?.resource));
