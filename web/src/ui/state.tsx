/** States of a page that has no content to show. Each names the next step. */
import { signal } from '@preact/signals';
import { CircleAlert, Inbox, RefreshCw, ShieldX } from 'lucide';
import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { away } from '../api/outage';
import type { Problem } from '../api/problem';
import { refusedRight } from '../app/refused-right';
import type { Right } from '../app/rights';
import { person } from '../app/session';
import { t, timeOf } from '../text/text';
import { Button, LinkButton } from './button';
import { Icon } from './icon';

/** Placeholder that is empty for 300 ms, and then shows grey lines of the final height. */
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

/** Steps below each refusal, once they are loaded. Set from outside, because elements know no parts of pages. */
export const refusalSteps = signal<ComponentType<{ right: Right }>>();

interface FailureProps {
  problem: Problem;
  onRetry: () => void;
  /** Further steps after a refusal; unset: the request for the right that the message names. */
  children?: ComponentChildren;
}

/** Shows a failure: the refused user for a refusal, the id of the request and a retry for any other failure. */
export function Failure({ problem, onRetry, children }: FailureProps) {
  if (problem.status === 403) {
    const [right, Steps] = [refusedRight(problem), refusalSteps.value];
    return (
      <RefusedState>
        <p class="muted measure">{problem.message}</p>
        {children ?? (right && Steps && <Steps right={right} />)}
      </RefusedState>
    );
  }
  const title = problem.isNotFound ? t('state.missing') : problem.status === 0 && problem.isOutage ? problem.message : t('state.failed');
  return (
    // The strip below the header tells of a service that does not answer, once.
    <div class="state" role={away.value ? undefined : 'alert'}>
      <Icon of={CircleAlert} size={24} />
      <p class="strong">{title}</p>
      {problem.message !== title && <p class="muted">{problem.message}</p>}
      {problem.isOutage && <p class="muted">{t('state.again')}</p>}
      {problem.requestId && (
        <p class="muted small">
          {t('state.request')} <code>{problem.requestId}</code>
        </p>
      )}
      <Retry after={problem.retryAfter} onRetry={onRetry} />
    </div>
  );
}

/** Shows the refused user, the reason, and the way to the list of allowed actions. */
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

/** Failure beside content that is still shown. */
export function Notice({ kind = 'bad', children }: { kind?: 'bad' | 'warn' | 'ok' | 'info'; children: ComponentChildren }) {
  return (
    <div class={`notice ${kind}`} role={kind === 'bad' ? 'alert' : 'status'}>
      {children}
    </div>
  );
}

interface OldProps {
  /** Time since which changes are not received. */
  lost?: Date | undefined;
  /** Failure of the last attempt to read it again. */
  problem?: Problem | undefined;
  onRetry: () => void;
}

/** Notice above outdated content, which is greyed. The shell tells of a service that does not answer. */
export const Old = ({ lost, problem, onRetry }: OldProps) =>
  (lost ?? problem) !== undefined &&
  away.value === undefined && (
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
        {/* Screen readers do not read each second. */}
        <span aria-live="off">
          <Retry key={problem?.retryAfter} after={problem?.retryAfter} onRetry={onRetry} kind="quiet" />
        </span>
      </div>
    </Notice>
  );

/** Content that was read before. Greyed while changes are not received, or after a failure to read it again. */
export const Held = ({ lost, problem, children }: Pick<OldProps, 'lost' | 'problem'> & { children: ComponentChildren }) => (
  <div class={problem || lost ? 'held old' : 'held'}>{children}</div>
);

/** Lists the causes of a problem that no field shows. */
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

/** Shows the message of a problem with its causes. */
export const ProblemNotice = ({ of }: { of: Problem }) => (
  <Notice>
    {of.message}
    <Causes of={of} />
  </Notice>
);

interface FirstOnlyProps {
  isPart: boolean;
  /** Number of objects that were read. */
  count: number;
  /** Plural of the kind. */
  kind: string;
}

/** Notice above the first part of a list that is too long to be read. */
export const FirstOnly = ({ isPart, ...list }: FirstOnlyProps) => isPart && <Notice kind="info">{firstOnlyText(list)}</Notice>;

/** A part of a list may have fewer objects than the limit, and none. */
export const firstOnlyText = ({ count, kind }: Omit<FirstOnlyProps, 'isPart'>): string =>
  count === 0 ? t('object.partOnly', { kind }) : t('object.firstOnly', { count, kind });

/** Announces rows that were added or removed. They enter the list on request, so that nothing jumps. */
export const Waiting = ({ count, onShow }: { count: number; onShow: () => void }) =>
  count > 0 && (
    <Notice kind="info">
      {t('list.changes', { count })}{' '}
      <Button kind="quiet" onClick={onShow}>
        {t('list.show')}
      </Button>
    </Notice>
  );
