import './proposals.css';
import { useSignal } from '@preact/signals';
import { Check, X } from 'lucide';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api, bodyOf } from '../../api/client';
import { pageOf } from '../../api/kinds';
import { type Load, useLoad } from '../../api/load';
import type { ClusterObject } from '../../api/objects';
import { asProblem, type Problem } from '../../api/problem';
import { agentName } from '../../app/agent-name';
import type { PageProps } from '../../app/page-props';
import { href } from '../../app/router';
import { dateTime, t } from '../../text/text';
import { Ago } from '../../ui/age';
import { Button } from '../../ui/button';
import { Facts } from '../../ui/facts';
import { Loaded } from '../../ui/loaded';
import { Notice, ProblemNotice } from '../../ui/state';
import { toast } from '../../ui/toast';
import { ActivityLink } from '../activity/activity-link';
import { Changes } from '../cluster/yaml/code';
import { comparedText } from '../cluster/yaml/object-text';
import { type Change, effectOf } from './effect';
import { type ChangeProposal, ProposalPhase, sentenceOf } from './words';

/** A change that an agent proposes, with the difference that it makes now. The user confirms or rejects it. */
export function Page({ params: { name = '' } }: PageProps) {
  const load = useLoad(`proposals/${name}`, (signal) => read(name, signal));
  const proposal = load.data.value;
  const heading = useRef<HTMLHeadingElement>(null);
  useExpiry(proposal, load);
  return (
    <section class="page proposal">
      <p class="crumb">
        <a href={href('/proposals')}>{t('proposals.title')}</a>
      </p>
      <header class="page-head">
        <h1 tabIndex={-1} ref={heading}>
          {proposal ? sentenceOf(proposal) : t('proposals.proposal')}
        </h1>
        {proposal && <ProposalPhase phase={proposal.phase} />}
      </header>
      <Loaded load={load}>
        {(shown) => (
          <>
            <Told proposal={shown} />
            {shown.phase === 'Open' && (
              <Answer
                key={name}
                proposal={shown}
                load={load}
                // The buttons have disappeared, and the focus with them.
                onDone={() => heading.current?.focus()}
              />
            )}
          </>
        )}
      </Loaded>
    </section>
  );
}

/** The clocks of browser and service may differ. */
const afterExpiryMs = 2000;

/** Loads an open proposal again once it has expired. */
function useExpiry(proposal: ChangeProposal | undefined, { reload }: Load<ChangeProposal>): void {
  useEffect(() => {
    if (proposal?.phase !== 'Open') return;
    const left = Date.parse(proposal.expirationTimestamp) - Date.now();
    const timer = setTimeout(() => void reload(), Math.max(left, 0) + afterExpiryMs);
    return () => clearTimeout(timer);
  }, [proposal]);
}

/** Shows who proposes the change, why, and what became of it. */
function Told({ proposal: { metadata, agent, object, reason, phase, expirationTimestamp } }: { proposal: ChangeProposal }) {
  const { apiGroup: group, version, resource, namespace, name } = object;
  return (
    <>
      {phase !== 'Open' && <Notice kind={phase === 'Confirmed' ? 'ok' : 'info'}>{t(`proposals.over.${phase}`)}</Notice>}
      <div class="cards">
        <section class="card" aria-labelledby="proposal-title">
          <h2 id="proposal-title">{t('proposals.proposal')}</h2>
          <Facts
            of={[
              [t('proposals.agent'), <bdi key="agent">{agentName(agent)}</bdi>],
              [
                t('cluster.object'),
                <a key="object" href={href(pageOf({ group, version, resource }, { namespace, name }))}>
                  {object.kind} {name}
                </a>,
              ],
              [t('cluster.namespace'), namespace],
              [t('proposals.proposed'), <Ago key="proposed" since={metadata.creationTimestamp} />],
              [t('proposals.until'), phase === 'Open' && <Until key="until" time={expirationTimestamp} />],
            ]}
          />
          {phase === 'Confirmed' && (
            <p>
              <ActivityLink of={{ kind: [resource, group].filter(Boolean).join('.'), namespace, name, since: '1h' }}>
                {t('proposals.activity')}
              </ActivityLink>
            </p>
          )}
        </section>
        <section class="card" aria-labelledby="reason-title">
          <h2 id="reason-title">{t('proposals.reason')}</h2>
          <blockquote dir="auto">{reason}</blockquote>
          <p class="muted">{t('proposals.reasonWhat')}</p>
        </section>
      </div>
    </>
  );
}

const Until = ({ time }: { time: string }) => (
  <>
    {dateTime(time)}{' '}
    <span class="muted">
      (<Ago since={time} />)
    </span>
  </>
);

const paramsOf = (name: string) => ({ params: { path: { name } } });

const read = (name: string, signal?: AbortSignal) =>
  bodyOf(api.GET('/auth/v1/changeproposals/{name}', { ...paramsOf(name), ...(signal && { signal }) }));

const reject = (name: string) => bodyOf(api.POST('/auth/v1/changeproposals/{name}/rejection', { ...paramsOf(name), body: {} }));

/** Objects whose pods crash get a new status, and with it a new version, all the time. */
const attempts = 4;

/** Confirms a change that the user has seen, also for another version of the object on which its effect is the same. */
async function confirm(name: string, seen: Change): Promise<ChangeProposal> {
  let { resourceVersion } = seen;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const body = { ...(resourceVersion !== undefined && { resourceVersion }) };
      return await bodyOf(api.POST('/auth/v1/changeproposals/{name}/confirmation', { ...paramsOf(name), body }));
    } catch (error) {
      if (asProblem(error).status !== 409 || attempt === attempts) throw error;
      const { change } = await read(name);
      if (change === undefined || change.resourceVersion === resourceVersion || effectOf(change) !== effectOf(seen)) throw error;
      resourceVersion = change.resourceVersion;
    }
  }
}

interface AnswerProps {
  proposal: ChangeProposal;
  load: Load<ChangeProposal>;
  onDone: () => void;
}

/** Shows the change, and the buttons that confirm or reject it. Neither is the default. */
function Answer({ proposal, load, onDone }: AnswerProps) {
  const { metadata, change, refusal } = proposal;
  const busy = useSignal<'confirm' | 'reject' | undefined>(undefined);
  const problem = useSignal<Problem | undefined>(undefined);
  const effect = change && effectOf(change);
  const [first] = useState(effect);
  const isChanged = effect !== first;
  async function answer(id: 'confirm' | 'reject', send: () => Promise<ChangeProposal>): Promise<void> {
    if (busy.value !== undefined) return;
    busy.value = id;
    problem.value = undefined;
    try {
      load.take({ data: await send() });
      toast('ok', t(id === 'confirm' ? 'proposals.confirmed' : 'proposals.rejected'));
      onDone();
    } catch (error) {
      problem.value = asProblem(error);
      // The object has changed, or the proposal is over: the page shows its state now.
      if (problem.value.status === 409) await load.reload();
    } finally {
      busy.value = undefined;
    }
  }
  return (
    <section class="card" aria-labelledby="change-title">
      <h2 id="change-title">{t('cluster.changes')}</h2>
      {isChanged && (
        <Notice key={effect} kind="warn">
          {t('proposals.changed')}
        </Notice>
      )}
      {problem.value && !(isChanged && problem.value.status === 409) && <ProblemNotice of={problem.value} />}
      {refusal && (
        <Notice>
          {t('proposals.refused')} <bdi>{refusal.message}</bdi>
        </Notice>
      )}
      {change && <Difference key={effect} change={change} />}
      <div class="buttons">
        {change && (
          <Button
            icon={Check}
            isBusy={busy.value === 'confirm'}
            onClick={() => void answer('confirm', () => confirm(metadata.name, change))}
          >
            {t('proposals.confirm')}
          </Button>
        )}
        <Button icon={X} isBusy={busy.value === 'reject'} onClick={() => void answer('reject', () => reject(metadata.name))}>
          {t('proposals.reject')}
        </Button>
      </div>
    </section>
  );
}

/** Shows the object before and after the change. The service proposes no changes of Secrets. */
function Difference({ change: { before, after } }: { change: Change }) {
  const load = useLoad('editors/editor', () => import('../../editors/editor'));
  return (
    <Loaded load={load}>
      {(yaml) => {
        const [old = '', next = ''] = [before, after].map((object) => object && comparedText({ yaml }, object as ClusterObject));
        return (
          <>
            {old === next && <p class="muted">{t('cluster.noChange')}</p>}
            <Changes label={t('cluster.changes')} before={old} after={next} />
          </>
        );
      }}
    </Loaded>
  );
}
