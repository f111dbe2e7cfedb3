/** Strip about the user's own access: the time that is left, and break-glass that is not reviewed. Loaded when there is some. */
import { signal, useSignal, useSignalEffect } from '@preact/signals';
import { Timer, TriangleAlert } from 'lucide';
import { type AccessRequest, endRequest, inbox, isActive, isUnreviewed, ownRequests, placeOf } from '../app/own-requests';
import { href } from '../app/router';
import { t } from '../text/text';
import { Button } from '../ui/button';
import { Confirm } from '../ui/confirm';
import { Icon } from '../ui/icon';

/** Time before the end from which it is counted down. */
const countdownMs = 600_000;

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
