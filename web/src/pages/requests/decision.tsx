/** Answers to a request by others than its requester: approval, denial, and the review of break-glass. */
import { typedText } from '@atrium/objects/typed-text.ts';
import { useSignal } from '@preact/signals';
import { Check, X } from 'lucide';
import { api, bodyOf } from '../../api/client';
import { refetch } from '../../api/load';
import { asProblem, type Problem } from '../../api/problem';
import { type AccessRequest, inbox, isUnreviewed } from '../../app/own-requests';
import { t } from '../../text/text';
import { Button } from '../../ui/button';
import { Field } from '../../ui/form';
import { ProblemNotice } from '../../ui/state';
import { toast } from '../../ui/toast';

/** Shown to approvers whose decision or review is missing. No button is the default: Enter in the comment decides nothing. */
export function Decision({ request }: { request: AccessRequest }) {
  const waits = inbox.value.some(({ metadata }) => metadata.uid === request.metadata.uid);
  if (request.status?.phase === 'Pending') return waits ? <Decide request={request} /> : <NoApprover request={request} />;
  return waits && isUnreviewed(request) && <Review request={request} />;
}

const NoApprover = ({ request: { spec, status } }: { request: AccessRequest }) =>
  status?.decisions?.length ? null : <p class="muted measure">{t('requests.noApprover', { policy: spec.policy.name })}</p>;

/** Sends an answer, and shows its failure. */
function useAnswer() {
  const busy = useSignal<string | undefined>(undefined);
  const problem = useSignal<Problem | undefined>(undefined);
  async function send(id: string, answer: () => Promise<unknown>, done: string): Promise<void> {
    if (busy.value !== undefined) return;
    busy.value = id;
    problem.value = undefined;
    try {
      await answer();
      await refetch('requests');
      toast('ok', done);
    } catch (error) {
      problem.value = asProblem(error);
    } finally {
      busy.value = undefined;
    }
  }
  const failure = problem.value && <ProblemNotice of={problem.value} />;
  return { busy: busy.value, failure, send };
}

function Decide({ request: { metadata } }: { request: AccessRequest }) {
  const comment = useSignal('');
  const { busy, failure, send } = useAnswer();
  const decide = (approve: boolean) => {
    const text = typedText(comment.value);
    const body = { approve, ...(text && { comment: text }) };
    const path = { name: metadata.name };
    void send(
      String(approve),
      () => bodyOf(api.POST('/auth/v1/accessrequests/{name}/decision', { params: { path }, body })),
      t(approve ? 'requests.approved' : 'requests.denied'),
    );
  };
  return (
    <section class="card" aria-labelledby="decide-title">
      <h2 id="decide-title">{t('requests.decide')}</h2>
      <Field label={t('requests.comment')} name="comment" value={comment} hint={t('requests.commentHint')} />
      {failure}
      <div class="buttons">
        <Button icon={Check} isBusy={busy === 'true'} onClick={() => decide(true)}>
          {t('requests.approve')}
        </Button>
        <Button icon={X} isBusy={busy === 'false'} onClick={() => decide(false)}>
          {t('requests.deny')}
        </Button>
      </div>
    </section>
  );
}

function Review({ request: { metadata } }: { request: AccessRequest }) {
  const comment = useSignal('');
  const { busy, failure, send } = useAnswer();
  const review = () => {
    const text = typedText(comment.value);
    const path = { name: metadata.name };
    void send(
      'review',
      () => bodyOf(api.POST('/auth/v1/accessrequests/{name}/review', { params: { path }, body: text ? { comment: text } : {} })),
      t('requests.reviewed'),
    );
  };
  return (
    <section class="card" aria-labelledby="review-title">
      <h2 id="review-title">{t('requests.review')}</h2>
      <p class="muted measure">{t('requests.reviewWhat')}</p>
      <Field label={t('requests.comment')} name="comment" value={comment} />
      {failure}
      <div class="buttons">
        <Button icon={Check} isBusy={busy === 'review'} onClick={review}>
          {t('requests.reviewDone')}
        </Button>
      </div>
    </section>
  );
}
