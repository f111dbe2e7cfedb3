import { CircleCheck, CircleX } from 'lucide';
import type { Schemas } from '../../api/client';
import { pageOf } from '../../api/kinds';
import { AskFor } from '../../app/ask';
import { inWords, may, type Right, useRights } from '../../app/rights';
import { href } from '../../app/router';
import { person } from '../../app/session';
import { t } from '../../text/text';
import { Icon } from '../../ui/icon';
import { type BindingRef, bindingIn, type Review, type Subject } from './subject-review';

interface OwnAnswer {
  right: Right;
  subject?: undefined;
  status: Schemas['AccessStatus'];
}

interface SubjectAnswer extends Review {
  right: Right;
  subject: Subject;
}

export type Answer = OwnAnswer | SubjectAnswer;

/** The answer below the question that it is about. */
export function Verdict(answer: Answer) {
  const { right, subject, status } = answer;
  const name = subject ? subject.name : (person.value?.name ?? '');
  return (
    <div class={`notice ${status.allowed ? 'ok' : 'bad'}`} role="status">
      <p class={`phase ${status.allowed ? 'ok' : 'bad'}`}>
        <Icon of={status.allowed ? CircleCheck : CircleX} />
        <strong>{t(status.allowed ? 'access.yes' : 'access.no', { name })}</strong>
      </p>
      <p>
        {t('access.asked')} <code>{inWords(right)}</code>
      </p>
      {answer.subject ? <SubjectReasons {...answer} /> : <OwnReasons {...answer.status} />}
      {!answer.subject && !status.allowed && <AskFor right={right} />}
    </div>
  );
}

function OwnReasons({ allowed, reason, evaluationError, explanation }: Schemas['AccessStatus']) {
  const roles = explanation && 'roles' in explanation ? explanation.roles : [];
  const found = explanation && 'binding' in explanation ? explanation : undefined;
  return (
    <>
      {found ? (
        <p>
          {t('access.because', {
            role: found.role.name,
            binding: found.binding.userBinding ?? found.binding.name,
            subject: found.subject.name,
          })}{' '}
          {found.binding.userBinding && <a href={href(`/bindings/${found.binding.userBinding}`)}>{t('access.openBinding')}</a>}
        </p>
      ) : (
        (reason || evaluationError) && <p>{reason || evaluationError}</p>
      )}
      {!allowed && (
        <p class="muted">
          {roles.length > 0 ? t('rights.roles', { roles: roles.map((role) => role.name).join(', ') }) : t('rights.noRole')}
        </p>
      )}
    </>
  );
}

/** The reason of the API server, and the groups that it counted. */
function SubjectReasons({ status: { reason, evaluationError }, groups, isWhole }: SubjectAnswer) {
  const binding = bindingIn(reason);
  return (
    <>
      {(reason || evaluationError) && (
        <p>
          {reason || evaluationError} {binding && <BindingLink of={binding} />}
        </p>
      )}
      <p class="muted">{t('access.groups', { groups: groups.join(', ') })}</p>
      {!isWhole && <p class="muted">{t('access.groupsUnknown')}</p>}
    </>
  );
}

const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' };

/** Only for callers who may read the binding. */
function BindingLink({ of: { resource, name, namespace } }: { of: BindingRef }) {
  const right: Right = { verb: 'get', group: rbac.group, resource, name, ...(namespace && { namespace }) };
  useRights([right]);
  return may(right) === true && <a href={href(pageOf({ ...rbac, resource }, { name, namespace }))}>{t('access.openBinding')}</a>;
}
