/** What a page shows while it has nothing else to show. Each state says what to do next. */
import { CircleAlert, Inbox, RefreshCw, ShieldX } from 'lucide';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Problem } from '../api/problem';
import { person } from '../app/session';
import { t, timeOf } from '../text/text';
import { Button, LinkButton } from './button';
import { Icon } from './icon';

/** Nothing for 300 ms, then grey lines of the final height. */
export function Skeleton({ rows = 6 }: { rows?: number }) {
  const [isShown, show] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => show(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="skeleton" role="status" aria-label={t('state.loading')}>
      {isShown && Array.from({ length: rows }, (_, index) => <div key={index} />)}
    </div>
  );
}

export function Empty({ text, children }: { text: string; children?: ComponentChildren }) {
  return (
    <div class="state">
      <Icon of={Inbox} size={24} />
      <p>{text}</p>
      {children}
    </div>
  );
}

interface FailureProps {
  problem: Problem;
  onRetry: () => void;
}

/** A refusal says who was refused; any other failure has its number, and what may be tried. */
export function Failure({ problem, onRetry }: FailureProps) {
  if (problem.status === 403)
    return (
      <RefusedState>
        <p class="muted measure">{problem.message}</p>
      </RefusedState>
    );
  return (
    <div class="state" role="alert">
      <Icon of={CircleAlert} size={24} />
      <p class="strong">
        {problem.status === 404 ? t('state.missing') : problem.status === 0 ? t('state.unreachable') : t('state.failed')}
      </p>
      <p class="muted">{problem.message}</p>
      {problem.requestId && (
        <p class="muted small">
          {t('state.request')} <code>{problem.requestId}</code>
        </p>
      )}
      <Retry after={problem.retryAfter} onRetry={onRetry} />
    </div>
  );
}

/** Who was refused, why, and where to see what is allowed. */
export function RefusedState({ children }: { children: ComponentChildren }) {
  return (
    <div class="state" role="alert">
      <Icon of={ShieldX} size={24} />
      <p class="strong">{t('state.refused')}</p>
      <p class="muted">{t('state.youAre', { name: person.value?.name ?? '' })}</p>
      {children}
      <LinkButton to="/access">{t('state.myAccess')}</LinkButton>
    </div>
  );
}

interface RetryProps {
  after: number | undefined;
  onRetry: () => void;
  kind?: 'plain' | 'quiet';
}

function Retry({ after, onRetry, kind = 'plain' }: RetryProps) {
  const [left, setLeft] = useState(after ?? 0);
  useEffect(() => {
    if (left <= 0) return;
    const timer = setTimeout(() => setLeft(left - 1), 1000);
    return () => clearTimeout(timer);
  }, [left]);
  return (
    <Button icon={RefreshCw} kind={kind} onClick={onRetry} isDisabled={left > 0}>
      {left > 0 ? t('state.retryIn', { count: left }) : t('state.retry')}
    </Button>
  );
}

/** A failure beside what is still shown. */
export function Notice({ kind = 'bad', children }: { kind?: 'bad' | 'warn' | 'ok' | 'info'; children: ComponentChildren }) {
  return (
    <div class={`notice ${kind}`} role={kind === 'bad' ? 'alert' : 'status'}>
      {children}
    </div>
  );
}

interface OldProps {
  /** Since when it is not told of changes. */
  lost?: Date | undefined;
  /** Why it could not be read again. */
  problem?: Problem | undefined;
  onRetry: () => void;
}

/** Above what was read before, which is greyed. */
export const Old = ({ lost, problem, onRetry }: OldProps) =>
  (lost ?? problem) !== undefined && (
    <Notice kind={lost ? 'warn' : 'bad'}>
      <div class="beside">
        <p>
          {lost && t('state.lost', { time: timeOf(lost) })} {problem?.message}{' '}
          {problem?.requestId && (
            <span class="muted small">
              {t('state.request')} <code>{problem.requestId}</code>
            </span>
          )}
        </p>
        {/* The seconds are not read out one by one. */}
        <span aria-live="off">
          <Retry key={problem?.retryAfter} after={problem?.retryAfter} onRetry={onRetry} kind="quiet" />
        </span>
      </div>
    </Notice>
  );

/** What was read before; greyed while it is not told of changes, or could not be read again. */
export const Held = ({ lost, problem, children }: Pick<OldProps, 'lost' | 'problem'> & { children: ComponentChildren }) => (
  <div class={problem || lost ? 'held old' : 'held'}>{children}</div>
);

/** What exactly was wrong, where it stands at no field. */
export function Causes({ of: { causes, message } }: { of: Problem }) {
  const lines = causes
    .map((cause) => [cause.field, cause.message || cause.reason].filter(Boolean).join(': '))
    .filter((line) => line !== message);
  if (lines.length === 0) return null;
  return (
    <ul class="causes">
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
}

/** Rows that have come or gone stay out of a list until they are asked for: nothing jumps. */
export const Waiting = ({ count, onShow }: { count: number; onShow: () => void }) =>
  count > 0 && (
    <Notice kind="info">
      {t('list.changes', { count })}{' '}
      <Button kind="quiet" onClick={onShow}>
        {t('list.show')}
      </Button>
    </Notice>
  );
