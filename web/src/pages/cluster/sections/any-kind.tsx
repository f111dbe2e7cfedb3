import type { ClusterObject } from '../../../api/objects';
import { t } from '../../../text/text';
import { Notice } from '../../../ui/state';
import { Age } from '../age';
import { type ConditionWord, conditionWords } from './condition-words';
import { fieldsOf } from './field-tree';
import { FieldTree } from './field-tree-view';
import { otherKinds } from './other-kinds';
import type { Section, SectionProps } from './sections';

const tones = { good: 'ok', bad: 'bad', unknown: 'warn', unseen: 'info' } as const;

/** Shows what is wrong, else the condition that sums up the object. */
export function Conditions({ object }: SectionProps) {
  const words = conditionWords(object);
  const wrong = words.filter(({ state }) => state !== 'good');
  const reached = words.filter(({ status }) => status === 'True').slice(0, 1);
  return (
    <>
      {(wrong.length > 0 ? wrong : reached).map((word) => (
        <ConditionNotice key={word.type} word={word} />
      ))}
    </>
  );
}

const ConditionNotice = ({ word: { type, state, status, reason, message, since } }: { word: ConditionWord }) => (
  <Notice kind={tones[state]}>
    <strong>{t(`conditions.${state === 'unseen' ? state : status}`, { type })}</strong> {reason} {since && <Age since={since} />}
    {state !== 'good' && message && <p>{message}</p>}
  </Notice>
);

export const conditions: Section = { isShown: (object) => conditionWords(object).length > 0, View: Conditions };

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
