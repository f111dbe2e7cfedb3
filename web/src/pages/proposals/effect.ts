import { sortKeys } from '../cluster/yaml/unchanged';
import type { ChangeProposal } from './words';

export type Change = NonNullable<ChangeProposal['change']>;

/** Members that controllers change all the time, such as in a Deployment whose pods crash. */
const withoutVersion = ({ status, metadata, ...rest }: Record<string, unknown>, isStatusShown: boolean) => {
  const { resourceVersion: _, generation: __, ...kept } = metadata as Record<string, unknown>;
  return { ...rest, metadata: kept, ...(isStatusShown && { status }) };
};

/** Returns a text that is equal for changes with the same effect. The status counts only where the change touches it. */
export function effectOf({ before, after }: Change): string {
  const isStatusShown = before !== undefined && after !== undefined && JSON.stringify(before.status) !== JSON.stringify(after.status);
  return JSON.stringify(sortKeys([before, after].map((object) => object && withoutVersion(object, isStatusShown))));
}
