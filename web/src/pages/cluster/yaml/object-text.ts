/** Text of an object in the editor. */
import type { ClusterObject } from '../../../api/objects';
import type { parse, stringify } from '../../../editors/editor';
import { masked } from './masks';
import { sortKeys } from './unchanged';

export type Yaml = { parse: typeof parse; stringify: typeof stringify };

/** Removes metadata that the API server keeps for itself. */
export function bare({ metadata, ...rest }: ClusterObject): ClusterObject {
  const { managedFields: _, ...shown } = metadata;
  const { apiVersion, kind, ...members } = rest;
  return { apiVersion, kind, metadata: shown, ...members } as ClusterObject;
}

interface Compared {
  yaml: Yaml;
  isMasked?: boolean;
}

/**
 * Returns the text of an object for a comparison.
 *
 * @param read object whose values are hidden; without it, all values are
 */
export const comparedText = (
  { yaml, isMasked = false }: Compared,
  shown: ClusterObject,
  read?: ClusterObject,
  changed?: () => string,
): string => yaml.stringify(sortKeys(bare(isMasked ? masked(shown, read, changed) : shown)));
