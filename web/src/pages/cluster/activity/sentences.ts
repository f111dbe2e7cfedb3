import type { Schemas } from '../../../api/client';
import { t } from '../../../text/text';

export type AuditEvent = Schemas['AuditEventList']['items'][number];

const ofSubresource = { exec: 'exec', attach: 'attach', portforward: 'portforward', eviction: 'evict', scale: 'scale' } as const;
const ofVerb = { create: 'create', update: 'change', patch: 'change', delete: 'delete', get: 'read', list: 'read', watch: 'read' } as const;

const has = <Key extends string>(table: Readonly<Record<Key, unknown>>, key: string): key is Key => Object.hasOwn(table, key);

const actionOf = ({ verb, objectRef: { subresource = '' } }: AuditEvent) =>
  has(ofSubresource, subresource) ? ofSubresource[subresource] : subresource === '' && has(ofVerb, verb) ? ofVerb[verb] : undefined;

/** Reports whether the request had an effect: refusals, failures and dry runs had none. */
export const hadEffect = ({ responseStatus: { code }, dryRun }: AuditEvent): boolean => code < 400 && dryRun !== true;

/** Returns what a user did to the object of an event, such as "Ada scaled it from 2 to 5", or tried to do. */
export function sentenceOf(event: AuditEvent): string {
  const { user, impersonatedUser, verb, objectRef, changes = [] } = event;
  const by = user.username;
  const who = impersonatedUser ? t('activity.as', { who: by, as: impersonatedUser.username }) : by;
  const action = actionOf(event);
  if (action === undefined) return t('activity.other', { who, what: `${verb} ${objectRef.subresource ?? ''}`.trim() });
  if (!hadEffect(event)) return t(`activity.tried.${action}`, { who });
  if (action !== 'scale') return t(`activity.${action}`, { who });
  const { from, to } = changes.find(({ field }) => field === 'spec.replicas') ?? {};
  return to === undefined
    ? t('activity.change', { who })
    : from === undefined
      ? t('activity.scaleTo', { who, to })
      : t('activity.scale', { who, from, to });
}
