import { useSignal } from '@preact/signals';
import { CircleAlert, CircleCheck, Clock, RefreshCw } from 'lucide';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { api, bodyOf, type Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import { makePassword } from '../../api/new-password';
import { asProblem } from '../../api/problem';
import { useFeature, useFeatures } from '../../api/version';
import { useGuard } from '../../app/guard';
import { Guarded } from '../../app/guarded';
import { may, useRights } from '../../app/rights';
import { href, navigate } from '../../app/router';
import { dateTime, t } from '../../text/text';
import { Button, LinkButton } from '../../ui/button';
import { Copy } from '../../ui/copy';
import { CheckField, Field, Form } from '../../ui/form';
import { Icon } from '../../ui/icon';
import { bindingBody, noPlace, PlaceChoice, roleSuggestions } from '../../ui/role-choice';
import { FirstOnly, Notice } from '../../ui/state';
import { useUnmountSignal } from '../../ui/unmount-signal';
import { linkRights } from '../user/link';
import { FederationFields, federationIn, KindChoice, useFederation } from './federation-fields';
import { type NewUser, type Step, stepsOf, userBody } from './steps';

const createRight = { verb: 'create', resource: 'users' };
const bindingRight = { verb: 'create', resource: 'userbindings' };
const groupRight = { verb: 'patch', resource: 'groups' };
/** Members receive the permissions of the group. */
const memberRight = (group: string) => ({ verb: 'impersonate', group: '', resource: 'groups', name: `local:${group}` });
const inviteRights = linkRights().make;

export function Page() {
  useRights([createRight, bindingRight, groupRight, ...inviteRights]);
  return (
    <Guarded right={createRight} title={t('users.new')}>
      <NewUserPage />
    </Guarded>
  );
}

interface Done {
  step: Step;
  problem?: string;
}

/** Local groups that the caller may add a member to. */
function useOpenGroups() {
  const isOn = useFeatures();
  const known = useLoad(isOn('groups') && may(groupRight) ? 'groups/local' : undefined, (signal) =>
    bodyOf(api.GET('/auth/v1/groups', { params: { query: { filterBy: ['local,true'], limit: 200 } }, signal })),
  );
  const local = known.data.value?.items.filter(({ spec }) => !spec.refConnector) ?? [];
  useRights(local.map(({ metadata }) => memberRight(metadata.name)));
  const open = local.filter(({ metadata }) => may(memberRight(metadata.name)));
  return { open, isPart: Boolean(known.data.value?.metadata.continue), read: local.length };
}

/** Steps of a creation: completed, running, or skipped after a failure. */
function useSteps() {
  const running = useSignal<Step | undefined>(undefined);
  const done = useSignal<readonly Done[]>([]);
  const left = useSignal<readonly Step[] | undefined>(undefined);
  const signal = useUnmountSignal();
  /** Runs the steps up to the first that fails. Leaving the page skips the others. */
  async function go(): Promise<void> {
    for (const step of left.value ?? []) {
      if (signal.aborted) return;
      running.value = step;
      try {
        await step.run(signal);
        done.value = [...done.value.filter(({ problem }) => problem === undefined), { step }];
        left.value = left.value?.filter((other) => other !== step);
      } catch (error) {
        done.value = [...done.value.filter(({ problem }) => problem === undefined), { step, problem: asProblem(error).message }];
        return;
      } finally {
        running.value = undefined;
      }
    }
  }
  async function begin(steps: readonly Step[]): Promise<void> {
    left.value = steps;
    await go();
  }
  return { running: running.value, done: done.value, left: left.value, begin, go };
}

function useFields() {
  return {
    ...{ email: useSignal(''), username: useSignal(''), password: useSignal(makePassword()), role: useSignal('') },
    ...{ groups: useSignal<readonly string[]>([]), place: useSignal(noPlace) },
    ...{ isInvited: useSignal(false), mustChangePassword: useSignal(true), federation: useFederation() },
  };
}

type Fields = ReturnType<typeof useFields>;

function wishOf({ email, username, password, role, groups, place, isInvited, mustChangePassword, ...others }: Fields): NewUser {
  const federation = federationIn(others.federation);
  return {
    ...{ email: email.value, username: username.value, password: password.value, role: role.value, federation },
    ...{ groups: groups.value, place: place.value, mustChangePassword: mustChangePassword.value },
    isInvited: isInvited.value && federation === undefined,
  };
}

function NewUserPage() {
  const fields = useFields();
  const { email, password, role, place } = fields;
  const steps = useSteps();
  const made = useSignal<Schemas['User'] | undefined>(undefined);
  const link = useSignal<Schemas['Link'] | undefined>(undefined);
  const isBegun = steps.left !== undefined;
  const isTouched = email.value !== '' && (!isBegun || steps.running !== undefined);
  useGuard(isTouched);
  const heading = useRef<HTMLHeadingElement>(null);
  // The form has disappeared, and the focus with it.
  useLayoutEffect(() => {
    if (isBegun) heading.current?.focus();
  }, [isBegun]);
  async function create(signal: AbortSignal): Promise<void> {
    // A dry run comes first: failures are shown at their fields before anything is created.
    const wish = wishOf(fields);
    await api.POST('/auth/v1/users', { params: { query: { dryRun: 'All' } }, body: await userBody(wish), signal });
    if (role.value) {
      const body = bindingBody({ kind: 'User', name: email.value }, role.value, place.value);
      await api.POST('/auth/v2/userbindings', { params: { query: { dryRun: 'All' } }, body, signal });
    }
    signal.throwIfAborted();
    const begun = stepsOf(wish, { user: (user) => (made.value = user), link: (one) => (link.value = one) });
    await steps.begin(begun);
  }
  const isPerson = !fields.federation.isMachine.value;
  const handOver = !isPerson
    ? undefined
    : fields.isInvited.value
      ? byLink(link.value)
      : made.value && byPassword(`${email.value}\n${password.value}`);
  return (
    <section class="page narrow">
      <p class="crumb">
        <a href={href('/users')}>{t('users.title')}</a>
      </p>
      <header class="page-head">
        <h1 tabIndex={-1} ref={heading}>
          {t('users.new')}
        </h1>
      </header>
      {isBegun ? <Progress steps={steps} made={made.value} handOver={handOver} /> : <NewUserForm fields={fields} onSubmit={create} />}
    </section>
  );
}

/** Credentials that the new user needs for the first login. */
interface HandOver {
  about: string;
  text: string;
  label: string;
}

const byPassword = (text: string): HandOver => ({ about: t('users.handOver'), text, label: t('users.password') });

const byLink = (link: Schemas['Link'] | undefined): HandOver | undefined =>
  link && { about: t('links.made', { time: dateTime(link.expiresAt) }), text: link.url, label: t('links.link') };

interface NewUserFormProps {
  fields: Fields;
  onSubmit: (signal: AbortSignal) => Promise<void>;
}

function NewUserForm({ fields, onSubmit }: NewUserFormProps) {
  const { email, username, role, groups, place, federation } = fields;
  const isMachine = federation.isMachine.value;
  const { open, isPart, read } = useOpenGroups();
  const mayBind = useFeatures()('userBindings') && may(bindingRight);
  const roles = useLoad(mayBind ? 'roles' : undefined, roleSuggestions);
  return (
    <Form action={t('users.create')} onSubmit={onSubmit} onCancel={() => navigate('/users')}>
      {useFeature('tokenExchange') && <KindChoice isMachine={federation.isMachine} />}
      {isMachine ? (
        <Field label={t('federation.loginName')} name="spec.email" value={email} isRequired hint={t('federation.loginNameHint')} />
      ) : (
        <Field label={t('users.email')} name="spec.email" type="email" value={email} isRequired hint={t('users.emailHint')} />
      )}
      <Field label={t('users.name')} name="spec.username" value={username} />
      {isMachine ? <FederationFields of={federation} /> : <FirstLogin fields={fields} />}
      {open.length > 0 && (
        <fieldset>
          <legend>{t('users.groups')}</legend>
          {open.map(({ metadata, spec }) => (
            <CheckField
              key={metadata.name}
              label={spec.displayName ? `${spec.displayName} (${metadata.name})` : metadata.name}
              isChecked={groups.value.includes(metadata.name)}
              onChange={(isChecked) => {
                groups.value = isChecked ? [...groups.value, metadata.name] : groups.value.filter((name) => name !== metadata.name);
              }}
            />
          ))}
        </fieldset>
      )}
      <FirstOnly isPart={isPart} count={read} kind={t('groups.title')} />
      {mayBind && (
        <>
          <Field label={t('users.role')} name="spec.roleRef" value={role} suggestions={roles.data.value ?? []} hint={t('users.roleHint')} />
          {role.value && <PlaceChoice place={place} role={role.value} />}
        </>
      )}
    </Form>
  );
}

/** Asks how the user gets the first password: from the caller, or by a one-time link. */
function FirstLogin({ fields: { password, isInvited, mustChangePassword } }: { fields: Fields }) {
  const mayInvite = useFeatures()('links') && inviteRights.every((right) => may(right));
  const choose = (invited: boolean) => () => {
    isInvited.value = invited;
  };
  return (
    <>
      {mayInvite && (
        <fieldset>
          <legend>{t('users.firstLogin')}</legend>
          <CheckField type="radio" name="firstLogin" label={t('users.byPassword')} isChecked={!isInvited.value} onChange={choose(false)} />
          <CheckField type="radio" name="firstLogin" label={t('users.byLink')} isChecked={isInvited.value} onChange={choose(true)} />
        </fieldset>
      )}
      {!isInvited.value && (
        <>
          <Field
            label={t('users.password')}
            name="spec.password"
            value={password}
            isRequired
            isCode
            isExact
            autocomplete="new-password"
            hint={t('users.passwordHint')}
          />
          <CheckField
            label={t('users.mustChange')}
            isChecked={mustChangePassword.value}
            onChange={(isChecked) => {
              mustChangePassword.value = isChecked;
            }}
          />
        </>
      )}
    </>
  );
}

interface ProgressProps {
  steps: ReturnType<typeof useSteps>;
  made: Schemas['User'] | undefined;
  handOver: HandOver | undefined;
}

function Progress({ steps: { running, done, left, go }, made, handOver }: ProgressProps) {
  const isWhole = left?.length === 0;
  return (
    <>
      <ul class="steps" aria-live="polite">
        {done.map(({ step, problem }) => (
          <li key={step.name + step.what} class={problem === undefined ? 'ok' : 'bad'}>
            <Icon of={problem === undefined ? CircleCheck : CircleAlert} />
            <span>{t(`step.${step.name}`, { what: step.what })}</span>
            {problem !== undefined && (
              <Notice>
                {problem} {step.page?.() && <a href={href(step.page() ?? '')}>{t('step.open')}</a>}
              </Notice>
            )}
          </li>
        ))}
        {running && (
          <li key="running">
            <Icon of={Clock} />
            <span>{t(`step.${running.name}`, { what: running.what })}</span>
            <span class="muted">{t('step.running')}</span>
          </li>
        )}
      </ul>
      {handOver && (
        <>
          <p>{handOver.about}</p>
          <Copy text={handOver.text} label={handOver.label} />
        </>
      )}
      <div class="buttons">
        {!isWhole && running === undefined && (
          <Button icon={RefreshCw} onClick={() => void go()}>
            {t('state.retry')}
          </Button>
        )}
        {made && (
          <LinkButton to={`/users/${made.metadata.name}`} kind="main">
            {t('users.open')}
          </LinkButton>
        )}
      </div>
    </>
  );
}
