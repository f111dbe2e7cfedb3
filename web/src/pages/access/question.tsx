import { typedText } from '@atrium/objects/typed-text.ts';
import { type Signal, useSignal } from '@preact/signals';
import { useLoad } from '../../api/load';
import { useAsked } from '../../app/asked';
import { explain, may, type Right, useRights } from '../../app/rights';
import { WhyButton } from '../../app/why';
import { t } from '../../text/text';
import { Field, Form } from '../../ui/form';
import { fetchResources, isVirtual, type Known } from './known-resources';
import { rightOf } from './right-of.ts';
import { reviewOf, rightsToAsk, rightToAsk, type SubjectKind } from './subject-review';
import { type Answer, Verdict } from './verdict';

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', 'impersonate', 'bind', 'escalate'];

const subjects = ['self', 'user', 'group', 'account'] as const;
const isOther = (who: string): who is SubjectKind => who !== 'self';

interface Fields {
  who: Signal<string>;
  subject: Signal<string>;
  verb: Signal<string>;
  resource: Signal<string>;
  namespace: Signal<string>;
  name: Signal<string>;
}

/** @throws Error for a resource that the cluster does not serve */
function checkResource(right: Right, { names, isWhole }: Known): void {
  const resource = [right.resource, right.group].filter(Boolean).join('.');
  if (isWhole && !isVirtual(right) && !names.includes(resource)) throw new Error(t('access.unknown', { resource }));
}

/** "May I?" and "May they?", with the reason, or with the roles that are needed. */
export function Question({ namespaces }: { namespaces: readonly string[] }) {
  const { fields, isAsked, keep } = useAsked({ who: 'self', subject: '', verb: 'list', resource: 'pods', namespace: '', name: '' });
  const { who, subject, namespace } = fields;
  const answer = useSignal<Answer | undefined>(undefined);
  const known = useLoad('resources', fetchResources);
  const isForOther = isOther(who.value);
  useRights(isForOther ? rightsToAsk(namespace.value) : []);
  const toAsk = rightToAsk(namespace.value);
  async function ask(): Promise<void> {
    const right = rightOf(fields);
    keep();
    answer.value = undefined;
    checkResource(right, known.data.value ?? { names: [], isWhole: false });
    const kind = who.value;
    if (!isOther(kind)) answer.value = { right, status: await explain(right) };
    else
      answer.value = {
        right,
        subject: { kind, name: typedText(subject.value) },
        ...(await reviewOf({ kind, name: typedText(subject.value) }, right)),
      };
  }
  return (
    <>
      <Form action={t('access.askButton')} onSubmit={ask} isDisabled={isForOther && may(toAsk) !== true} isSubmittedAtOnce={isAsked}>
        <SubjectFields {...fields} />
        {isForOther && may(toAsk) === false && (
          <p class="muted">
            {t('access.mayNotAsk')} <WhyButton right={toAsk} />
          </p>
        )}
        <RightFields {...fields} resources={known.data.value?.names ?? []} namespaces={namespaces} />
      </Form>
      {answer.value && <Verdict {...answer.value} />}
    </>
  );
}

function SubjectFields({ who, subject }: Fields) {
  const kind = who.value;
  return (
    <>
      <Field label={t('access.who')} name="who" value={who}>
        {subjects.map((one) => (
          <option key={one} value={one}>
            {t(`access.who.${one}`)}
          </option>
        ))}
      </Field>
      {isOther(kind) && (
        <Field label={t(`access.nameOf.${kind}`)} name="spec.user" value={subject} isRequired hint={t(`access.hint.${kind}`)} />
      )}
    </>
  );
}

interface RightFieldsProps extends Omit<Fields, 'who' | 'subject'> {
  resources: readonly string[];
  namespaces: readonly string[];
}

export const RightFields = ({ verb, resource, namespace, name, resources, namespaces }: RightFieldsProps) => (
  <>
    <Field label={t('access.verb')} name="spec.resourceAttributes.verb" value={verb}>
      {verbs.map((one) => (
        <option key={one}>{one}</option>
      ))}
    </Field>
    <Field
      label={t('access.resource')}
      name="spec.resourceAttributes.resource"
      value={resource}
      isRequired
      suggestions={resources}
      hint={t('access.resourceHint')}
    />
    <Field
      label={t('access.namespace')}
      name="spec.resourceAttributes.namespace"
      value={namespace}
      suggestions={namespaces}
      hint={t('access.namespaceHint')}
    />
    <Field label={t('access.name')} name="spec.resourceAttributes.name" value={name} hint={t('access.nameHint')} />
  </>
);
