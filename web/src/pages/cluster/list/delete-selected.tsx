import { useSignal } from '@preact/signals';
import { each, type Outcome } from '../../../api/each';
import { apiPath, type Kind } from '../../../api/kinds';
import { deleteOptions, keyOf, type Metadata, write } from '../../../api/objects';
import { t } from '../../../text/text';
import { Button } from '../../../ui/button';
import { Confirm } from '../../../ui/confirm';
import { Dialog } from '../../../ui/dialog';
import { Notice } from '../../../ui/state';
import { AsKubectl } from '../as-kubectl';
import { deleteCommands } from '../kubectl';

/** Identifies a row that is selected. */
export type Listed = Pick<Metadata, 'name' | 'namespace' | 'uid'>;

const shownNames = 8;

interface DeleteSelectedProps {
  kind: Kind;
  rows: readonly Listed[];
  onClose: () => void;
  onDone: () => void;
}

/** Shows the objects to be deleted, and afterwards the failures. Each object is deleted only if it is still the same. */
export function DeleteSelected({ kind, rows, onClose, onDone }: DeleteSelectedProps) {
  const failed = useSignal<readonly Outcome[] | undefined>(undefined);
  const title = t('cluster.deleteMany', { count: rows.length, kind: rows.length === 1 ? kind.kind : kind.title });
  async function remove(signal: AbortSignal): Promise<void> {
    const byKey = new Map(rows.map((row) => [keyOf(row), row]));
    const removeOne = async (key: string) => {
      const row = byKey.get(key);
      await write(apiPath(kind, row), { method: 'DELETE', body: deleteOptions(row?.uid, 'Background') });
    };
    const outcomes = await each([...byKey.keys()], removeOne, signal);
    const left = outcomes.filter(({ message }) => message !== undefined);
    if (left.length === 0) onDone();
    else failed.value = left.map(({ name, message = '' }) => ({ name: byKey.get(name)?.name ?? name, message }));
  }
  if (failed.value !== undefined)
    return (
      <Dialog title={title} onClose={onDone}>
        <Notice>
          {t('cluster.deleteFailed', { count: failed.value.length })}
          <ul class="causes">
            {failed.value.map(({ name, message }) => (
              <li key={name}>
                <strong>{name}</strong>: {message}
              </li>
            ))}
          </ul>
        </Notice>
        <div class="buttons">
          <Button kind="main" onClick={onDone}>
            {t('action.done')}
          </Button>
        </div>
      </Dialog>
    );
  return (
    <Confirm title={title} onConfirm={remove} onClose={onClose}>
      <ul class="chips">
        {rows.slice(0, shownNames).map((row) => (
          <li key={keyOf(row)} class="chip">
            {row.name}
          </li>
        ))}
        {rows.length > shownNames && <li class="chip">{t('users.more', { count: rows.length - shownNames })}</li>}
      </ul>
      <p>{t('cluster.deleteWhat')}</p>
      <AsKubectl command={deleteCommands(kind, rows)} />
    </Confirm>
  );
}
