/** Creates a user, then a link, memberships and a role. A step that fails is repeated without the ones before it. */
import { api, bodyOf, type Schemas } from '../../api/client';
import { bindingCreator } from '../../api/create-binding';
import { sealed } from '../../api/password';
import { t } from '../../text/text';
import { bindingBody, type Place } from '../../ui/role-choice';

export interface NewUser {
  email: string;
  username: string;
  password: string;
  mustChangePassword: boolean;
  /** The user chooses the password with a one-time link. */
  isInvited: boolean;
  groups: readonly string[];
  role: string;
  place: Place;
  /** Tokens by which a machine user acts. Undefined for a person. */
  federation: { issuer: string; audience: string; claims: Record<string, string> }[] | undefined;
}

type StepName = 'user' | 'link' | 'group' | 'role';

export interface Step {
  name: StepName;
  what: string;
  /** @param signal aborted once the page is left: nothing more is sent then */
  run: (signal: AbortSignal) => Promise<void>;
  /** The page that shows more, once the step has begun. */
  page?: () => string | undefined;
}

/** Builds the body of the creation. An invited user chooses the password anyway. */
export const userBody = async ({ email, username, password, mustChangePassword, isInvited, federation }: NewUser) => ({
  spec: {
    ...{ email, username },
    ...(federation ? { federation } : { password: await sealed(password) }),
    ...(!federation && !isInvited && { must_change_password: mustChangePassword }),
  },
});

interface Made {
  user: (user: Schemas['User']) => void;
  link: (link: Schemas['Link']) => void;
}

export function stepsOf(wish: NewUser, made: Made): Step[] {
  let record = '';
  const makeUser = async (signal: AbortSignal) => {
    const body = await userBody(wish);
    signal.throwIfAborted();
    const user = (await bodyOf(api.POST('/auth/v1/users', { body }))) as Schemas['User'];
    record = user.metadata.name;
    made.user(user);
  };
  const invite = async () => {
    const path = { name: record };
    made.link((await bodyOf(api.POST('/auth/v1/users/{name}/links', { params: { path }, body: { kind: 'invite' } }))) as Schemas['Link']);
  };
  const join = (name: string) => async () => {
    const answer = await bodyOf(api.POST('/auth/v1/groups/{name}/members', { params: { path: { name } }, body: { names: [record] } }));
    const [failed] = answer.items.filter(({ status }) => status === 'Failure');
    if (failed) throw new Error(failed.message ?? failed.reason);
  };
  return [
    { name: 'user', what: wish.email, run: makeUser },
    // The link precedes the groups and the role: a link for a user with rights requires the right to impersonate the user.
    ...(wish.isInvited ? [{ name: 'link', what: wish.email, run: invite } as const] : []),
    ...wish.groups.map((group): Step => ({ name: 'group', what: group, run: join(group) })),
    ...(wish.role ? [roleStep(() => record, wish)] : []),
  ];
}

/** The timeout and the interval of the wait for the controller. */
const waits = { everyMs: 400, times: 50 };

/** Binds the role once, and waits until the binding is in effect. A repeated step waits for the same binding. */
function roleStep(record: () => string, { role, place }: NewUser): Step {
  let binding = '';
  const create = bindingCreator();
  const run = async (signal: AbortSignal) => {
    if (!binding) binding = await create(bindingBody({ kind: 'User', name: record() }, role, place));
    await untilSynced(binding, signal);
  };
  return { name: 'role', what: role, run, page: () => (binding ? `/bindings/${binding}` : undefined) };
}

/** @throws Error with the controller's reason if the binding has failed, or is not in effect in time */
async function untilSynced(name: string, signal: AbortSignal): Promise<void> {
  const params = { params: { path: { name } }, signal };
  for (let count = 0; count < waits.times; count += 1) {
    const { status } = (await bodyOf(api.GET('/auth/v2/userbindings/{name}', params))) as Schemas['UserBinding'];
    if (status?.phase === 'Synced') return;
    if (status?.phase === 'Failed')
      throw new Error(status.conditions?.find((condition) => condition.status === 'False')?.message ?? t('step.failed'));
    await new Promise((resolve) => setTimeout(resolve, waits.everyMs));
  }
  throw new Error(t('step.notYet'));
}
