/**
 * Access of the user for a while: its begin and end, the time that is left, and break-glass that is not reviewed. Loaded after the page.
 */
import { batch, signal, useSignal, useSignalEffect } from '@preact/signals';
import { Timer, TriangleAlert } from 'lucide';
import { api, bodyOf, storageKey } from '../api/client';
import { followSet } from '../api/live-set';
import { inOneTab } from '../api/one-tab';
import { type AccessRequest, endRequest, inbox, isUnreviewed, ownRequests, placeOf } from '../app/own-requests';
import { refreshRights } from '../app/rights';
import { href } from '../app/router';
import { t } from '../text/text';
import { Button } from '../ui/button';
import { Confirm } from '../ui/confirm';
import { Icon } from '../ui/icon';
import { toast } from '../ui/toast';

const limit = 200;
/** Time before the end from which it is counted down. */
const countdownMs = 600_000;
const refreshedAfterMs = [0, 5000, 15_000];

const isActive = ({ status }: AccessRequest): boolean => status?.phase === 'Active';

/** Own requests that give or may give access, and break-glass that no other user has reviewed. */
const concerns = (request: AccessRequest): boolean =>
  ['Pending', 'Approving', 'Scheduled', 'Active'].includes(request.status?.phase ?? '') || isUnreviewed(request);

/** Tells of access that has begun or ended since, and asks for the rights of the page again. */
function tellChanges(before: readonly AccessRequest[], now: readonly AccessRequest[]): void {
  const activeIn = (requests: readonly AccessRequest[]) => new Map(requests.filter(isActive).map((one) => [one.metadata.uid, one]));
  const [old, current] = [activeIn(before), activeIn(now)];
  const begun = [...current.values()].filter(({ metadata }) => !old.has(metadata.uid));
  const ended = [...old.values()].filter(({ metadata }) => !current.has(metadata.uid));
  for (const { spec } of begun) toast('info', t('ownAccess.begun', { role: spec.roleRef, place: placeOf({ spec }) }));
  for (const { spec } of ended) toast('info', t('ownAccess.ended', { role: spec.roleRef, place: placeOf({ spec }) }));
  // The phase of the request changes before its RBAC does.
  if (begun.length + ended.length > 0) for (const ms of refreshedAfterMs) setTimeout(refreshRights, ms);
}

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

const now = signal(Date.now());

/** Strip below the header. Empty while nothing ends soon and no break-glass waits for its review. */
export function OwnAccess() {
  const ending = useSignal<AccessRequest | undefined>(undefined);
  const active = ownRequests.value.filter(isActive);
  const hasActive = active.length > 0;
  useSignalEffect(() => {
    if (!ownRequests.value.some(isActive)) return;
    now.value = Date.now();
    const timer = setInterval(() => {
      now.value = Date.now();
    }, 1000);
    return () => clearInterval(timer);
  });
  const soon = hasActive ? active.filter(({ status }) => Date.parse(status?.until ?? '') - now.value < countdownMs) : [];
  const lines = [
    ...unreviewedLines(),
    ...soon.map((request) => (
      <Countdown
        key={request.metadata.uid}
        request={request}
        onEnd={() => {
          ending.value = request;
        }}
      />
    )),
  ];
  if (lines.length === 0 && ending.value === undefined) return null;
  return (
    <section class="own-access" aria-label={t('ownAccess.title')}>
      {lines}
      {ending.value && (
        <EndAccess
          request={ending.value}
          onClose={() => {
            ending.value = undefined;
          }}
        />
      )}
    </section>
  );
}

/** Break-glass of the user, and break-glass that the user has to review. */
function unreviewedLines() {
  const own = ownRequests.value.filter(isUnreviewed);
  const others = inbox.value.filter(isUnreviewed);
  return [
    ...own.map((request) => (
      <BreakGlass key={request.metadata.uid} to={`/requests/${request.metadata.name}`}>
        {t('ownAccess.unreviewed', { role: request.spec.roleRef, place: placeOf(request) })}
      </BreakGlass>
    )),
    ...(others.length > 0
      ? [
          <BreakGlass key="review" to={others.length === 1 ? `/requests/${others[0]?.metadata.name}` : '/requests?view=inbox'}>
            {t('ownAccess.toReview', { count: others.length })}
          </BreakGlass>,
        ]
      : []),
  ];
}

const BreakGlass = ({ to, children }: { to: string; children: string }) => (
  <p class="bad">
    <Icon of={TriangleAlert} />
    <a href={href(to)}>{children}</a>
  </p>
);

function Countdown({ request, onEnd }: { request: AccessRequest; onEnd: () => void }) {
  const left = Math.max(0, Math.ceil((Date.parse(request.status?.until ?? '') - now.value) / 1000));
  const time = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`;
  return (
    <p>
      <Icon of={Timer} />
      <a href={href(`/requests/${request.metadata.name}`)}>
        {t('ownAccess.ends', { role: request.spec.roleRef, place: placeOf(request) })}
      </a>
      <span class="countdown" role="timer">
        {time}
      </span>
      <Button kind="quiet" onClick={onEnd}>
        {t('ownAccess.endNow')}
      </Button>
    </p>
  );
}

function EndAccess({ request, onClose }: { request: AccessRequest; onClose: () => void }) {
  const { metadata, spec } = request;
  async function end(): Promise<void> {
    await endRequest(metadata.name);
    onClose();
  }
  return (
    <Confirm title={t('ownAccess.endNow')} onConfirm={end} onClose={onClose}>
      <p>{t('ownAccess.endWhat', { role: spec.roleRef, place: placeOf(request) })}</p>
    </Confirm>
  );
}
