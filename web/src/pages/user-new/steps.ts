/** A user, then groups, then a role: each step can fail, and be repeated without the ones before it. */
import { api, bodyOf, type Schemas } from '../../api/client';
import { sealed } from '../../api/password';
import { t } from '../../text/text';
import { bindingBody, type Place } from '../../ui/role-choice';

export interface NewUser {
  email: string;
  username: string;
  password: string;
  groups: readonly string[];
  role: string;
  place: Place;
}

type StepName = 'user' | 'group' | 'role';

export interface Step {
  name: StepName;
  what: string;
  run: () => Promise<void>;
  /** The page that shows more, once the step has begun. */
  page?: () => string | undefined;
}

export function stepsOf(wish: NewUser, onMade: (user: Schemas['User']) => void): Step[] {
  let record = '';
  const spec = { email: wish.email, username: wish.username };
  const makeUser = async () => {
    const body = { spec: { ...spec, password: await sealed(wish.password) } };
    const user = (await bodyOf(api.POST('/auth/v1/users', { body }))) as Schemas['User'];
    record = user.metadata.name;
    onMade(user);
  };
  const join = (name: string) => async () => {
    const answer = await bodyOf(api.POST('/auth/v1/groups/{name}/members', { params: { path: { name } }, body: { names: [record] } }));
    const [failed] = answer.items.filter(({ status }) => status === 'Failure');
    if (failed) throw new Error(failed.message ?? failed.reason);
  };
  return [
    { name: 'user', what: wish.email, run: makeUser },
    ...wish.groups.map((group): Step => ({ name: 'group', what: group, run: join(group) })),
    ...(wish.role ? [roleStep(() => record, wish)] : []),
  ];
}

/** The timeout and the interval of the wait for the controller. */
const waits = { everyMs: 400, times: 50 };

/** Binds the role once, and waits until the binding is in effect. A repeated step waits for the same binding. */
function roleStep(record: () => string, { role, place }: NewUser): Step {
  let binding = '';
  const run = async () => {
    if (!binding) {
      const body = bindingBody({ kind: 'User', name: record() }, role, place);
      const made = (await bodyOf(api.POST('/auth/v2/userbindings', { body }))) as Schemas['UserBinding'];
      binding = made.metadata.name;
    }
    await untilSynced(binding);
  };
  return { name: 'role', what: role, run, page: () => (binding ? `/bindings/${binding}` : undefined) };
}

/** @throws Error with the controller's reason if the binding has failed, or is not in effect in time */
async function untilSynced(name: string): Promise<void> {
  const params = { params: { path: { name } } };
  for (let count = 0; count < waits.times; count += 1) {
    const { status } = (await bodyOf(api.GET('/auth/v2/userbindings/{name}', params))) as Schemas['UserBinding'];
    if (status?.phase === 'Synced') return;
    if (status?.phase === 'Failed')
      throw new Error(status.conditions?.find((condition) => condition.status === 'False')?.message ?? t('step.failed'));
    await new Promise((resolve) => setTimeout(resolve, waits.everyMs));
  }
  throw new Error(t('step.notYet'));
}
