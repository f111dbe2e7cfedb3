/** Changes of the objects that are selected in a list. Another one is an entry here, and a dialog in `change-selected.tsx`. */
import { RotateCw, Scaling, Tags, Trash2 } from 'lucide';
import { type Kind, kindId } from '../../../api/kinds';
import type { Metadata } from '../../../api/objects';
import { may } from '../../../app/rights';
import { isRestartable } from '../kubectl';
import type { ListRights } from './list-frame';

/** Identifies a row that is selected. */
export type Listed = Pick<Metadata, 'name' | 'namespace' | 'uid'>;

const changes = [
  {
    id: 'restart',
    label: 'cluster.restart',
    icon: RotateCw,
    right: 'patch',
    isFor: (kind: Kind) => isRestartable(kindId(kind)),
  },
  {
    id: 'scale',
    label: 'cluster.scale',
    icon: Scaling,
    right: 'scale',
    isFor: ({ subresources }: Kind) => subresources.includes('scale'),
  },
  {
    id: 'label',
    label: 'cluster.label',
    icon: Tags,
    right: 'patch',
    isFor: ({ verbs }: Kind) => verbs.includes('patch'),
  },
  {
    id: 'delete',
    label: 'cluster.delete',
    icon: Trash2,
    right: 'remove',
    isFor: ({ verbs }: Kind) => verbs.includes('delete'),
  },
] as const;

export type SelectedChange = (typeof changes)[number];

/** Returns the changes that the caller may make of the objects in a list. */
export const changesFor = (kind: Kind, rights: ListRights): readonly SelectedChange[] =>
  changes.filter(({ isFor, right }) => isFor(kind) && may(rights[right]) === true);
