import { useSignal } from '@preact/signals';
import { CircleAlert, CircleCheck, Clock, RefreshCw } from 'lucide';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { api, bodyOf, type Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import { makePassword } from '../../api/new-password';
import { sealed } from '../../api/password';
import { asProblem } from '../../api/problem';
import { useFeatures } from '../../api/version';
import { Guarded } from '../../app/guarded';
import { may, useRights } from '../../app/rights';
import { href, navigate, setGuard } from '../../app/router';
import { t } from '../../text/text';
import { Button, LinkButton } from '../../ui/button';
import { Copy } from '../../ui/copy';
import { CheckField, Field, Form } from '../../ui/form';
import { Icon } from '../../ui/icon';
import { bindingBody, noPlace, PlaceChoice, roleSuggestions } from '../../ui/role-choice';
import { Notice } from '../../ui/state';
import { type Step, stepsOf } from './steps';

const createRight = { verb: 'create', resource: 'users' };
const bindingRight = { verb: 'create', resource: 'userbindings' };
const groupRight = { verb: 'patch', resource: 'groups' };
/** Members of a group get what the group has. */
const memberRight = (group: string) => ({ verb: 'impersonate', group: '', resource: 'groups', name: `local:${group}` });

export function Page() {
  useRights([createRight, bindingRight, groupRight]);
  return (
    <Guarded right={createRight} title={t('users.new')}>
      <NewUser />
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
    bodyOf(api.GET('/auth/v1/groups', { params: { query: { limit: 200 } }, signal })),
  );
  const local = known.data.value?.items.filter(({ spec }) => !spec.refConnector) ?? [];
  useRights(local.map(({ metadata }) => memberRight(metadata.name)));
  return local.filter(({ metadata }) => may(memberRight(metadata.name)));
}

/** Steps of a creation: done, running, and left after one that failed. */
function useSteps() {
  const running = useSignal<Step | undefined>(undefined);
  const done = useSignal<readonly Done[]>([]);
  const left = useSignal<readonly Step[] | undefined>(undefined);
  /** To the first step that fails. */
  async function go(): Promise<void> {
    for (const step of left.value ?? []) {
      running.value = step;
      try {
        await step.run();
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
  };
}

function NewUser() {
  const fields = useFields();
  const { email, username, password, role, groups, place } = fields;
  const steps = useSteps();
  const made = useSignal<Schemas['User'] | undefined>(undefined);
  const isBegun = steps.left !== undefined;
  const isTouched = email.value !== '' && !isBegun;
  useEffect(() => {
    setGuard(isTouched ? () => confirm(t('form.leave')) : undefined);
    return () => setGuard(undefined);
  }, [isTouched]);
  const heading = useRef<HTMLHeadingElement>(null);
  // The form has gone, and the focus with it.
  useLayoutEffect(() => {
    if (isBegun) heading.current?.focus();
  }, [isBegun]);
  async function create(): Promise<void> {
    // Tried first: what is wrong stands at its field before anything is made.
    const spec = { email: email.value, username: username.value, password: await sealed(password.value) };
    await api.POST('/auth/v1/users', { params: { query: { dryRun: 'All' } }, body: { spec } });
    if (role.value) {
      const body = bindingBody({ kind: 'User', name: email.value }, role.value, place.value);
      await api.POST('/auth/v2/userbindings', { params: { query: { dryRun: 'All' } }, body });
    }
    const wish = { email: email.value, username: username.value, password: password.value, groups: groups.value, role: role.value };
    const begun = stepsOf({ ...wish, place: place.value }, (user) => {
      made.value = user;
    });
    await steps.begin(begun);
  }
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
      {isBegun ? (
        <Progress steps={steps} made={made.value} handOver={`${email.value}\n${password.value}`} />
      ) : (
        <NewUserForm fields={fields} onSubmit={create} />
      )}
    </section>
  );
}

interface NewUserFormProps {
  fields: ReturnType<typeof useFields>;
  onSubmit: () => Promise<void>;
}

function NewUserForm({ fields: { email, username, password, role, groups, place }, onSubmit }: NewUserFormProps) {
  const open = useOpenGroups();
  const mayBind = useFeatures()('userBindings') && may(bindingRight);
  const roles = useLoad(mayBind ? 'roles' : undefined, roleSuggestions);
  return (
    <Form isPage action={t('users.create')} onSubmit={onSubmit} onCancel={() => navigate('/users')}>
      <Field label={t('users.email')} name="spec.email" type="email" value={email} isRequired hint={t('users.emailHint')} />
      <Field label={t('users.name')} name="spec.username" value={username} />
      <Field
        label={t('users.password')}
        name="spec.password"
        value={password}
        isRequired
        isCode
        autocomplete="new-password"
        hint={t('users.passwordHint')}
      />
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
      {mayBind && (
        <>
          <Field label={t('users.role')} name="spec.roleRef" value={role} suggestions={roles.data.value ?? []} hint={t('users.roleHint')} />
          {role.value && <PlaceChoice place={place} role={role.value} />}
        </>
      )}
    </Form>
  );
}

interface ProgressProps {
  steps: ReturnType<typeof useSteps>;
  made: Schemas['User'] | undefined;
  /** Address and password of the new user. */
  handOver: string;
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
      {made && (
        <>
          <p>{t('users.handOver')}</p>
          <Copy text={handOver} label={t('users.password')} />
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
