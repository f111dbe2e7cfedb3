/** Follows the access requests that concern the user, and tells of access that begins and ends. Loaded after the page. */
import { batch } from '@preact/signals';
import { api, bodyOf, storageKey } from '../api/client';
import { followSet } from '../api/live-set';
import { inOneTab } from '../api/one-tab';
import { type AccessRequest, inbox, isActive, isUnreviewed, ownRequests, placeOf } from '../app/own-requests';
import { refreshRights } from '../app/rights';
import { type Key, loadTexts, t } from '../text/text';
import { toast } from '../ui/toast';

const limit = 200;
const refreshedAfterMs = [0, 5000, 15_000];

/** Own requests that give or may give access or were refused, and break-glass that no other user has reviewed. */
const concerns = (request: AccessRequest): boolean => !/Withdrawn|Ended/.test(request.status?.phase ?? '') || isUnreviewed(request);

const isRefused = ({ status }: AccessRequest): boolean => /Denied|Lapsed/.test(status?.phase ?? '');

/** Tells of access that has begun or ended and of refused requests since, and asks for the rights of the page again. */
function tellChanges(before: readonly AccessRequest[], now: readonly AccessRequest[]): void {
  const activeIn = (requests: readonly AccessRequest[]) => new Map(requests.filter(isActive).map((one) => [one.metadata.uid, one]));
  const [old, current] = [activeIn(before), activeIn(now)];
  const begun = [...current.values()].filter(({ metadata }) => !old.has(metadata.uid));
  const ended = [...old.values()].filter(({ metadata }) => !current.has(metadata.uid));
  const waited = new Set(before.filter((one) => !isRefused(one)).map(({ metadata }) => metadata.uid));
  const refused = now.filter((one) => isRefused(one) && waited.has(one.metadata.uid));
  if (begun.length + ended.length + refused.length > 0)
    void loadTexts('overlays')
      .catch(() => undefined)
      .then(() => {
        for (const one of begun) toastOf('ok', 'ownAccess.begun', one);
        for (const one of ended) toastOf('info', 'ownAccess.ended', one);
        for (const one of refused) toastOf('bad', 'ownAccess.refused', one);
      });
  // The phase of the request changes before its RBAC does.
  if (begun.length + ended.length > 0) for (const ms of refreshedAfterMs) setTimeout(refreshRights, ms);
}

const toastOf = (kind: 'ok' | 'info' | 'bad', key: Key, { metadata, spec }: AccessRequest): void =>
  toast(kind, t(key, { role: spec.roleRef, place: placeOf({ spec }) }), undefined, metadata.uid);

type Rows = readonly AccessRequest[];

/** Message between the tabs of a browser: a question, or the rows of the tab that follows the lists. */
interface TabRows {
  record: string;
  own?: Rows;
  inbox?: Rows;
}

/**
 * Follows the user's requests and the inbox, in one tab for all of this browser.
 *
 * @param record name of the User record
 * @param isLive false where live lists are switched off
 * @returns a function that stops it
 */
export function followOwnAccess(record: string, isLive: boolean): () => void {
  const channel = new BroadcastChannel(storageKey('own-access'));
  let known: TabRows = { record };
  let isFirst = true;
  let isFollowing = false;
  const take = ({ own, inbox: waiting }: Partial<TabRows>) => {
    if (waiting) inbox.value = waiting;
    if (own === undefined) return;
    if (!isFirst) tellChanges(ownRequests.peek(), own);
    isFirst = false;
    ownRequests.value = own;
  };
  const tell = (rows: Partial<TabRows>) => {
    known = { ...known, ...rows };
    take(rows);
    channel.postMessage({ record, ...rows });
  };
  channel.addEventListener('message', ({ data }: MessageEvent<TabRows>) => {
    if (data.record !== record) return;
    if (data.own || data.inbox) take(data);
    else if (isFollowing) channel.postMessage(known);
  });
  channel.postMessage({ record });
  const stop = inOneTab('own-access', () => {
    isFollowing = true;
    const stops = followLists(record, isLive, tell);
    return () => {
      isFollowing = false;
      for (const end of stops) end();
    };
  });
  return () => {
    stop();
    channel.close();
    batch(() => {
      ownRequests.value = [];
      inbox.value = [];
    });
  };
}

function followLists(record: string, isLive: boolean, tell: (rows: Partial<TabRows>) => void): (() => void)[] {
  const path = 'auth/v1/accessrequests';
  const address = (query: Record<string, string>) =>
    isLive ? (resourceVersion: string) => `${path}?${new URLSearchParams({ ...query, watch: 'true', resourceVersion })}` : undefined;
  const own = { fieldSelector: `spec.record=${record}` };
  const waiting = { inbox: 'true' as const };
  const read = (query: typeof own | typeof waiting) => (signal: AbortSignal) =>
    bodyOf(api.GET('/auth/v1/accessrequests', { params: { query: { ...query, limit } }, signal }));
  return [
    followSet<AccessRequest>({ read: read(own), address: address(own), onRows: (rows) => tell({ own: rows.filter(concerns) }) }),
    followSet<AccessRequest>({ read: read(waiting), address: address(waiting), onRows: (rows) => tell({ inbox: rows }) }),
  ];
}
