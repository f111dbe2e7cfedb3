import type { ClusterObject } from '../../../api/objects';
import { t } from '../../../text/text';
import { Ago } from '../../../ui/age';
import { Notice } from '../../../ui/state';
import { type ConditionRow, summaryConditions } from './conditions';
import { fieldsOf } from './field-tree';
import { FieldTree } from './field-tree-view';
import { otherKinds } from './other-kinds';
import type { Section, SectionProps } from './section';

/** More are a mistake of the controller, and are left to the table. */
const shownConditions = 20;

/** Shows problems, or else the condition that sums up the object. */
export function Conditions({ object }: SectionProps) {
  const conditions = summaryConditions(object);
  const wrong = conditions.filter(({ tone }) => tone !== 'ok');
  const reached = conditions.filter(({ status }) => status === 'True').slice(0, 1);
  return (
    <>
      {(wrong.length > 0 ? wrong : reached).slice(0, shownConditions).map((condition) => (
        <ConditionNotice key={condition.type} of={condition} />
      ))}
    </>
  );
}

const ConditionNotice = ({ of: { type, tone, isUnseen, status, reason, message, since } }: { of: ConditionRow }) => (
  <Notice kind={tone ?? 'info'}>
    <strong>{t(`conditions.${isUnseen ? 'unseen' : status}`, { type })}</strong> {reason} {since && <Ago since={since} />}
    {tone !== 'ok' && message && <p>{message}</p>}
  </Notice>
);

export const conditions: Section = { isShown: (object) => summaryConditions(object).length > 0, View: Conditions };

/** The object without the members that stand elsewhere on its page. */
function fieldsShown({ apiVersion, kind, metadata, status, ...members }: ClusterObject): object {
  if (!Array.isArray(status?.conditions)) return status === undefined ? members : { ...members, status };
  const { conditions: table, ...rest } = status;
  return fieldsOf(rest) === undefined ? members : { ...members, status: rest };
}

const Fields = ({ kind, object }: SectionProps) => (
  <FieldTree kind={kind} value={fieldsShown(object)} id={object.metadata.uid ?? object.metadata.name} />
);

export const sections: Readonly<Record<string, readonly Section[]>> = {
  [otherKinds]: [conditions, { title: 'fields.title', isShown: (object) => fieldsOf(fieldsShown(object)) !== undefined, View: Fields }],
};
