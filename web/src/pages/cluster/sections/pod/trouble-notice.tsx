import type { Trouble } from '@atrium/objects/pod-containers.ts';
import type { ComponentChildren } from 'preact';
import { type Kind, pageOf } from '../../../../api/kinds';
import type { ClusterObject } from '../../../../api/objects';
import { href } from '../../../../app/router';
import { t, tOf } from '../../../../text/text';
import { Ago } from '../../../../ui/age';
import { Notice } from '../../../../ui/state';

interface TroubleProps {
  kind: Kind;
  pod: ClusterObject;
  trouble: Trouble;
  /** Stands before the reason. */
  children?: ComponentChildren;
}

/** The reason of a broken container, its last end, and the way to its log. */
export function TroubleNotice({ kind, pod, trouble, children }: TroubleProps) {
  const { container, reason, message, last, log } = trouble;
  const words = tOf('podReason', reason);
  const query = container && log && new URLSearchParams({ container, ...(log === 'previous' && { previous: 'true' }) });
  return (
    <Notice>
      {children}
      <strong>{container ? `${container}: ${reason}` : reason}</strong> {words !== reason && words}
      {message && <p class="muted">{message}</p>}
      {last && (
        <p>
          {t('object.last')}: {t('object.lastEnd', { reason: last.reason ?? '', code: last.exitCode ?? last.signal ?? 0 })} ·{' '}
          <Ago since={last.finishedAt} />
          <br />
          {last.reason && last.reason !== reason && tOf('podReason', last.reason) !== last.reason && tOf('podReason', last.reason)}
        </p>
      )}
      {query && <a href={`${href(pageOf(kind, pod.metadata, 'logs'))}?${query}`}>{t('cluster.logOf', { name: container })}</a>}
    </Notice>
  );
}
