/** Parts of the page of an object. */
import type { ComponentType } from 'preact';
import type { Kind } from '../../../api/kinds';
import type { ClusterObject } from '../../../api/objects';
import type { Key } from '../../../text/text';

export interface SectionProps {
  kind: Kind;
  kinds: readonly Kind[];
  object: ClusterObject;
}

export interface Section {
  /** Without one the section has no heading. */
  title?: Key;
  /** Unset: always shown. */
  isShown?: (object: ClusterObject) => boolean;
  View: ComponentType<SectionProps>;
}
