import { localUsers } from './installation.ts';
import { logInByTurns } from './log-in-by-turns.ts';
import { installation } from './shared.ts';

describe('a login at two replicas', () => {
  it('FLT-11 REN-07 alternates between both at each step, and ends on both', async () => {
    const service = await installation();
    const [one = '', other = ''] = service.replicas.map(({ url }) => url);
    const [email = ''] = localUsers;

    await logInByTurns(service.url, [one, other], email);
  });
});
