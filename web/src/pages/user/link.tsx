import { useSignal } from '@preact/signals';
import { api, bodyOf, type Schemas } from '../../api/client';
import { may } from '../../app/rights';
import { dateTime, t } from '../../text/text';
import { Confirm } from '../../ui/confirm';
import { Copy } from '../../ui/copy';
import { Dialog, LastLine } from '../../ui/dialog';
import { Field, Form } from '../../ui/form';
import { toast } from '../../ui/toast';
import { factorRights } from './factors';

type User = Schemas['User'];
type Kind = Schemas['LinkRequest']['kind'];

const isLocal = ({ spec }: User) => ['', 'local'].includes(spec.connector_id);

/** Kinds of links in the OpenAPI document, and whether each is useful for a user. */
const kinds: Readonly<Record<Kind, (user: User) => boolean>> = {
  invite: (user) => isLocal(user) && user.status?.lastLoginTime === undefined,
  password: isLocal,
  // The link resets factors, which requires the right to do so.
  enrol: (user) => (isLocal(user) || user.spec.connector_type === 'ldap') && may(factorRights(user.metadata.name).remove) === true,
};

export const linkKindsFor = (user: User): Kind[] => (Object.keys(kinds) as Kind[]).filter((kind) => kinds[kind](user));

/** Returns the rights that links require. A link sets the password, so the right to set it is required, too. */
export const linkRights = (name?: string) => {
  const named = name === undefined ? {} : { name };
  const password = { verb: 'update', resource: 'users', subresource: 'password', ...named };
  const links = { resource: 'users', subresource: 'links', ...named };
  return { make: [{ verb: 'create', ...links }, password], end: [{ verb: 'delete', ...links }, password] };
};

interface LinkProps {
  user: User;
  onClose: () => void;
}

const called = ({ spec }: User): string => spec.username || spec.email;

/** Creates or mails a link. A link that was created is shown once. */
export function MakeLink({ user, onClose }: LinkProps) {
  const offered = linkKindsFor(user);
  const kind = useSignal<string>(offered[0] ?? 'password');
  const way = useSignal<string>('hand');
  const made = useSignal<{ url?: string; expiresAt: string } | undefined>(undefined);
  const { email } = user.spec;
  async function make(): Promise<void> {
    const path = { name: user.metadata.name };
    const body = { kind: kind.value as Kind, ...(way.value === 'mail' && { mail: true }) };
    made.value = await bodyOf(api.POST('/auth/v1/users/{name}/links', { params: { path }, body }));
  }
  if (made.value !== undefined) {
    const { url, expiresAt } = made.value;
    return (
      <Dialog title={t('links.of', { name: called(user) })} onClose={onClose}>
        {url === undefined ? (
          <p>{t('links.mailed', { email, time: dateTime(expiresAt) })}</p>
        ) : (
          <>
            <p>{t('links.made', { time: dateTime(expiresAt) })}</p>
            <Copy text={url} label={t('links.link')} />
          </>
        )}
        <LastLine onClose={onClose} isDone />
      </Dialog>
    );
  }
  return (
    <Dialog title={t('links.of', { name: called(user) })} onClose={onClose}>
      <Form
        isShownOnce={way.value === 'hand'}
        action={t(way.value === 'mail' ? 'links.mail' : 'links.make')}
        onSubmit={make}
        onCancel={onClose}
      >
        <Field label={t('links.kind')} name="kind" value={kind} hint={t(`links.${kind.value as Kind}What`)}>
          {offered.map((one) => (
            <option key={one} value={one} selected={one === kind.value}>
              {t(`links.${one}`)}
            </option>
          ))}
        </Field>
        <Field label={t('links.way')} name="mail" value={way}>
          {(['hand', 'mail'] as const).map((one) => (
            <option key={one} value={one} selected={one === way.value}>
              {t(`links.by.${one}`, { email })}
            </option>
          ))}
        </Field>
      </Form>
    </Dialog>
  );
}

export function EndLinks({ user, onClose }: LinkProps) {
  async function end(): Promise<void> {
    await api.DELETE('/auth/v1/users/{name}/links', { params: { path: { name: user.metadata.name } } });
    onClose();
    toast('ok', t('links.ended', { name: called(user) }));
  }
  return (
    <Confirm title={t('links.endOf', { name: called(user) })} action={t('links.end')} onConfirm={end} onClose={onClose}>
      <p>{t('links.endWhat')}</p>
    </Confirm>
  );
}
