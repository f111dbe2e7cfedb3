import type { ClusterObject } from '../../../../api/objects';
import { problems } from '../conditions/condition-notices';
import { allConditions } from '../conditions/condition-table';
import { otherKinds } from '../other-kinds';
import type { Section, SectionProps } from '../section';
import { fieldsOf } from './field-tree';
import { FieldTree } from './field-tree-view';

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
  [otherKinds]: [
    problems,
    allConditions,
    { title: 'fields.title', isShown: (object) => fieldsOf(fieldsShown(object)) !== undefined, View: Fields },
  ],
};
