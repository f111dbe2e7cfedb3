import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { Button } from './button';
import { Confirm } from './confirm';
import type { Column } from './table';
import { toast } from './toast';

interface RowActionProps<T> {
  label: string;
  isOffered: (row: T) => boolean;
  title: (row: T) => string;
  about: (row: T) => ComponentChildren;
  act: (row: T) => Promise<void>;
  done: string;
}

/** Adds a column with a button in each row, and the confirmation that the button opens. */
export function useRowAction<T>({ label, isOffered, title, about, act, done }: RowActionProps<T>) {
  const chosen = useSignal<T | undefined>(undefined);
  const choose = (row: T | undefined) => () => {
    chosen.value = row;
  };
  const column: Column<T> = {
    id: 'act',
    title: '',
    cell: (row) =>
      isOffered(row) && (
        <Button kind="quiet" onClick={choose(row)}>
          {label}
        </Button>
      ),
  };
  const row = chosen.value;
  async function confirm(of: T): Promise<void> {
    await act(of);
    toast('ok', done);
    chosen.value = undefined;
  }
  const dialog = row !== undefined && (
    <Confirm title={title(row)} onClose={choose(undefined)} onConfirm={() => confirm(row)}>
      <p>{about(row)}</p>
    </Confirm>
  );
  return { column, dialog };
}
