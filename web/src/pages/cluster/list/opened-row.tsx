/** Row of a list whose page is opened: the page shows it until the object is read. */
import type { ComponentChildren } from 'preact';
import { apiPath, type Kind } from '../../../api/kinds';
import { Facts } from '../../../ui/facts';
import { Skeleton } from '../../../ui/state';
import type { Column } from '../../../ui/table';

interface Place {
  kind: Kind;
  namespace?: string | undefined;
  name: string;
}

interface Listed {
  metadata: { name: string; namespace?: string };
}

type Cells = () => readonly (readonly [title: string, cell: ComponentChildren])[];

/** A single row is kept: a click opens one page. */
let opened: { path: string; cells: Cells } | undefined;

const pathOf = ({ kind, ...place }: Place) => apiPath(kind, place);

/** Remembers a row whose link was followed. The page shows the name and the namespace of the object itself. */
export function noteRow<T extends Listed>(kind: Kind, row: T, columns: readonly Column<T>[]): void {
  const { name, namespace } = row.metadata;
  const shown = columns.filter(({ id }) => id !== 'name' && id !== 'namespace');
  opened = { path: pathOf({ kind, name, namespace }), cells: () => shown.map(({ title, cell }) => [title, cell(row)]) };
}

export const openedRow = (place: Place): Cells | undefined => (opened?.path === pathOf(place) ? opened.cells : undefined);

export const RowSummary = ({ row }: { row: Cells }) => (
  <div aria-busy="true">
    <Facts of={row()} />
    <Skeleton />
  </div>
);
