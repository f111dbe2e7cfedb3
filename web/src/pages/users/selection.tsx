import { useSignal } from '@preact/signals';
import { CircleSlash, LockOpen, Puzzle, Trash2, X } from 'lucide';
import { each, type Outcome } from '../../api/each';
import { allowedOf, usePluginActions } from '../../plugins/actions';
import { t } from '../../text/text';
import { Button } from '../../ui/button';
import { Dialog, LastLine } from '../../ui/dialog';
import { Form } from '../../ui/form';
import { Failures, Names } from '../../ui/outcomes';
import { refOfUser, type User } from './query';
import { deleteUsers, setDisabled } from './writes';

interface SelectionProps {
  users: readonly User[];
  mayPatch: boolean;
  mayDelete: boolean;
  onClear: () => void;
  onDone: () => void;
}

type Act = 'disable' | 'enable' | 'delete';

/** Toolbar of the actions on all selected users. Each button shows their number. */
export function Selection({ users, mayPatch, mayDelete, onClear, onDone }: SelectionProps) {
  const act = useSignal<Act | undefined>(undefined);
  const offered = allowedOf(usePluginActions('auth.platform.io', 'users'));
  const count = users.length;
  const choose = (chosen: Act | undefined) => () => {
    act.value = chosen;
  };
  return (
    <section class="selection" aria-label={t('users.selected', { count })}>
      <strong>{t('users.selected', { count })}</strong>
      {mayPatch && (
        <>
          <Button icon={CircleSlash} onClick={choose('disable')}>
            {t('user.disable')}
          </Button>
          <Button icon={LockOpen} onClick={choose('enable')}>
            {t('user.enable')}
          </Button>
        </>
      )}
      {offered.map(({ label, run }) => (
        <Button key={label} icon={Puzzle} onClick={() => run(users.map(refOfUser))}>
          {label}
        </Button>
      ))}
      {mayDelete && (
        <Button icon={Trash2} kind="danger" onClick={choose('delete')}>
          {t('user.delete')}
        </Button>
      )}
      <Button icon={X} kind="quiet" label={t('users.clearSelection')} onClick={onClear} />
      {act.value && <Bulk act={act.value} users={users} onClose={choose(undefined)} onClear={onClear} onDone={onDone} />}
    </section>
  );
}

interface BulkProps {
  act: Act;
  users: readonly User[];
  onClose: () => void;
  onClear: () => void;
  onDone: () => void;
}

/** Includes the e-mail address, because several users may have the same name. */
const called = ({ spec: { username, email } }: User): string => (username && username !== email ? `${username} · ${email}` : email);

/** Shows the affected users before an action, and the result for each after it. */
function Bulk({ act, users, onClose, onClear, onDone }: BulkProps) {
  const outcomes = useSignal<readonly Outcome[] | undefined>(undefined);
  const count = users.length;
  const nameOf = (name: string) => {
    const found = users.find(({ metadata }) => metadata.name === name);
    return found ? called(found) : name;
  };
  async function run(signal: AbortSignal): Promise<void> {
    const names = users.map(({ metadata }) => metadata.name);
    outcomes.value =
      act === 'delete' ? await deleteUsers(names, signal) : await each(names, (name) => setDisabled(name, act === 'disable'), signal);
    onDone();
  }
  const title = t(`users.${act}`, { count });
  const failed = outcomes.value?.filter(({ message }) => message !== undefined) ?? [];
  if (outcomes.value === undefined)
    return (
      <Dialog title={title} onClose={onClose}>
        <Form action={title} kind={act === 'enable' ? 'main' : 'danger'} onSubmit={run} onCancel={onClose}>
          <Names of={users.map((user) => ({ id: user.metadata.uid, name: called(user) }))} />
          {act === 'delete' && <p>{t('user.deleteWhat')}</p>}
          {act === 'disable' && <p>{t('user.disableWhat')}</p>}
        </Form>
      </Dialog>
    );
  return (
    <Dialog title={title} onClose={onClear}>
      <p>{t('users.done', { count: outcomes.value.length - failed.length })}</p>
      {failed.length > 0 && (
        <Failures
          text={t('users.failed', { count: failed.length })}
          failed={failed.map((outcome) => ({ ...outcome, name: nameOf(outcome.name) }))}
        />
      )}
      <LastLine onClose={onClear} isDone />
    </Dialog>
  );
}
