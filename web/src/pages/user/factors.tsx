import { useSignal } from '@preact/signals';
import { Fingerprint, ListRestart, ShieldCheck, ShieldOff } from 'lucide';
import { api, bodyOf, type Schemas } from '../../api/client';
import { refetch, useLoad } from '../../api/load';
import { asProblem } from '../../api/problem';
import { RefusedMenu } from '../../app/refused-menu';
import { may } from '../../app/rights';
import { logIn, person } from '../../app/session';
import { count, dateTime, t } from '../../text/text';
import { Ago } from '../../ui/age';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/confirm';
import { Dialog } from '../../ui/dialog';
import { Field, Form } from '../../ui/form';
import { Loaded } from '../../ui/loaded';
import { PlainTable } from '../../ui/plain-table';
import { Empty, Notice } from '../../ui/state';
import { toast } from '../../ui/toast';

type Factor = Schemas['Factor'];

export const factorRights = (name: string) => ({
  get: { verb: 'get', resource: 'users', subresource: 'factors', name },
  remove: { verb: 'delete', resource: 'users', subresource: 'factors', name },
});

const keyOf = (name: string) => `factors/${name}`;

/**
 * Shows the second factors of a user. Users set up their own at the issuer's page, and remove them one by one; those of other users are
 * reset.
 */
export function Factors({ user }: { user: Schemas['User'] }) {
  const { name } = user.metadata;
  const isSelf = person.value?.ext.user === name;
  const load = useLoad(keyOf(name), (signal) => bodyOf(api.GET('/auth/v1/users/{name}/factors', { params: { path: { name } }, signal })));
  // The operation does not exist if second factors are switched off.
  if (load.error.value?.isUnknownPath) return <Empty text={t('factors.switchedOff')} />;
  return (
    <Loaded load={load}>
      {({ rule, kinds, isChangeable, isTOTPSuspended, items }) => (
        <>
          <p class="muted measure">{t(isSelf ? `factors.${rule}Own` : `factors.${rule}`)}</p>
          {isTOTPSuspended && <Notice kind="warn">{t('factors.suspended')}</Notice>}
          {items.length === 0 ? (
            <Empty text={t('factors.none')}>{isSelf && <Enrol kinds={kinds} isChangeable={isChangeable} items={items} />}</Empty>
          ) : (
            <FactorTable user={name} items={items} isSelf={isSelf} isChangeable={isChangeable} />
          )}
          {isSelf
            ? items.length > 0 && rule !== 'off' && <Enrol kinds={kinds} isChangeable={isChangeable} items={items} />
            : (items.length > 0 || isTOTPSuspended) && <Reset user={user} />}
        </>
      )}
    </Loaded>
  );
}

const typeOf = ({ type }: Factor): string => t(`factors.type${type}`);

/** Returns the name that the owner has given to a factor, or its type. */
const called = (factor: Factor): string => factor.name || typeOf(factor);

interface FactorTableProps {
  user: string;
  items: readonly Factor[];
  isSelf: boolean;
  isChangeable: boolean;
}

function FactorTable({ user, items, isSelf, isChangeable }: FactorTableProps) {
  const renaming = useSignal<Factor | undefined>(undefined);
  const removing = useSignal<Factor | undefined>(undefined);
  const close = () => {
    renaming.value = undefined;
    removing.value = undefined;
  };
  const actions = (factor: Factor) => (
    <>
      <Button
        kind="quiet"
        isDisabled={!isChangeable}
        onClick={() => {
          renaming.value = factor;
        }}
      >
        {t('factors.rename')}
      </Button>
      <Button
        kind="quiet"
        isDisabled={!isChangeable}
        onClick={() => {
          removing.value = factor;
        }}
      >
        {t('factors.remove')}
      </Button>
    </>
  );
  return (
    <>
      <PlainTable
        label={t('factors.title')}
        rows={items}
        idOf={({ id }) => id}
        columns={[
          { title: t('factors.what'), cell: (factor) => <TypeAndRest of={factor} /> },
          { title: t('users.name'), cell: ({ name }) => name || <span class="muted">–</span> },
          { title: t('factors.since'), cell: ({ created }) => dateTime(created) },
          {
            title: t('tokens.used'),
            cell: ({ lastUsed }) => (lastUsed ? <Ago since={lastUsed} /> : <span class="muted">{t('users.never')}</span>),
          },
          { title: '', cell: (factor) => isSelf && actions(factor) },
        ]}
      />
      {renaming.value && <Rename user={user} factor={renaming.value} onClose={close} />}
      {removing.value && <Remove user={user} factor={removing.value} onClose={close} />}
    </>
  );
}

/** Type of a factor, and the number of its codes that are left. */
const TypeAndRest = ({ of: factor }: { of: Factor }) => (
  <>
    <span class="strong">{typeOf(factor)}</span>
    {factor.left !== undefined && <span class="muted"> · {t('factors.left', { count: factor.left, shown: count(factor.left) })}</span>}
  </>
);

interface ChangeProps {
  user: string;
  factor: Factor;
  onClose: () => void;
}

function Remove({ user, factor, onClose }: ChangeProps) {
  async function remove(): Promise<void> {
    await api.DELETE('/auth/v1/users/{name}/factors/{id}', { params: { path: { name: user, id: factor.id } } });
    onClose();
    await refetch(keyOf(user));
    toast('ok', t('factors.removed'));
  }
  return (
    <Confirm title={t('factors.removeOf', { name: called(factor) })} onClose={onClose} onConfirm={remove}>
      <p>{t(factor.type === 'RecoveryCodes' ? 'factors.removeCodes' : 'factors.removeWhat')}</p>
    </Confirm>
  );
}

function Rename({ user, factor, onClose }: ChangeProps) {
  const name = useSignal(factor.name);
  async function rename(): Promise<void> {
    const path = { name: user, id: factor.id };
    await api.PATCH('/auth/v1/users/{name}/factors/{id}', { params: { path }, body: { name: name.value } });
    onClose();
    await refetch(keyOf(user));
  }
  return (
    <Dialog title={t('factors.renameOf', { name: called(factor) })} onClose={onClose}>
      <Form action={t('factors.rename')} onSubmit={rename} onCancel={onClose}>
        <Field label={t('users.name')} name="name" value={name} hint={t('factors.renameHint')} />
      </Form>
    </Dialog>
  );
}

/** The issuer's own page sets factors up, so that no script can. */
function Enrol({ kinds, isChangeable, items }: Pick<Schemas['FactorList'], 'kinds' | 'isChangeable' | 'items'>) {
  const hasApp = items.some(({ type }) => type === 'TOTP');
  const set = (factor: 'passkey' | 'totp' | 'codes') => () => {
    logIn(undefined, { prompt: 'enrol', factor }).catch((error: unknown) => toast('bad', asProblem(error).message));
  };
  if (kinds.length === 0 && items.length === 0) return null;
  return (
    <>
      <div class="buttons">
        {kinds.includes('totp') && (
          <Button kind={hasApp ? 'plain' : 'main'} icon={ShieldCheck} isDisabled={!isChangeable} onClick={set('totp')}>
            {t(hasApp ? 'factors.replaceApp' : 'factors.setUpApp')}
          </Button>
        )}
        {kinds.includes('passkey') && (
          <Button icon={Fingerprint} isDisabled={!isChangeable} onClick={set('passkey')}>
            {t('factors.setUpPasskey')}
          </Button>
        )}
        {items.length > 0 && (
          <Button icon={ListRestart} isDisabled={!isChangeable} onClick={set('codes')}>
            {t('factors.newCodes')}
          </Button>
        )}
      </div>
      <p class="muted small measure">{t(isChangeable ? 'factors.elsewhere' : 'factors.otherLogin')}</p>
    </>
  );
}

function Reset({ user: { metadata, spec } }: { user: Schemas['User'] }) {
  const isOpen = useSignal(false);
  const { name } = metadata;
  const right = factorRights(name).remove;
  const shown = spec.username || spec.email;
  const close = () => {
    isOpen.value = false;
  };
  async function reset(): Promise<void> {
    await api.DELETE('/auth/v1/users/{name}/factors', { params: { path: { name } } });
    close();
    await refetch(keyOf(name), `user/${name}`);
    toast('ok', t('factors.resetDone', { name: shown }));
  }
  return (
    <div class="buttons">
      <RefusedMenu of={[{ rights: [right], label: t('factors.reset'), icon: ShieldOff }]} />
      {may(right) && (
        <Button
          kind="danger"
          icon={ShieldOff}
          onClick={() => {
            isOpen.value = true;
          }}
        >
          {t('factors.reset')}
        </Button>
      )}
      {isOpen.value && (
        <Confirm title={t('factors.resetOf', { name: shown })} action={t('factors.reset')} onConfirm={reset} onClose={close}>
          <p>{t('factors.resetWhat')}</p>
        </Confirm>
      )}
    </div>
  );
}
