/** A user, then groups, then a role: each step can fail, and be repeated without the ones before it. */
import { api, bodyOf, type Schemas } from '../../api/client';
import { sealed } from '../../api/password';
import { bindingBody } from '../../ui/role-choice';

export interface NewUser {
  email: string;
  username: string;
  password: string;
  groups: readonly string[];
  role: string;
  namespaces: readonly string[];
}

type StepName = 'user' | 'group' | 'role';

export interface Step {
  name: StepName;
  what: string;
  run: () => Promise<void>;
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
    ...(wish.role
      ? [{ name: 'role' as const, what: wish.role, run: () => bind({ kind: 'User', name: record }, wish.role, wish.namespaces) }]
      : []),
  ];
}

async function bind(subject: { kind: 'User' | 'Group'; name: string }, role: string, namespaces: readonly string[]): Promise<void> {
  await api.POST('/auth/v2/userbindings', { body: bindingBody(subject, role, namespaces) });
}
