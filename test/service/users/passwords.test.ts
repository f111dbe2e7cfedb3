import { StatusError } from '@atrium/objects/status.ts';
import { expect } from 'chai';
import { Passwords } from '../../../src/users/passwords/passwords.ts';

/** Output of the reference implementation: `printf password | argon2 somesalt -id -t 2 -m 16 -p 1 -l 32 -e`. */
const foreign = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';

describe('a password hash', () => {
  const passwords = new Passwords();

  it('USR-01 is argon2id of at least 19 MiB and two passes, with a salt of its own', async () => {
    const [one, two] = await Promise.all([passwords.hash('secret words'), passwords.hash('secret words')]);

    expect(one).to.match(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(one).not.to.equal(two);
  });

  it('matches its password, and no other', async () => {
    const hash = await passwords.hash('secret words');

    expect(await passwords.verify('secret words', hash)).to.equal('match');
    for (const wrong of ['secret word', 'Secret words', 'secret words ', hash, ''])
      expect(await passwords.verify(wrong, hash), wrong).to.equal('mismatch');
  });

  it('is understood when another program made it, and to be made again where it is weaker', async () => {
    expect(await passwords.verify('password', foreign)).to.equal('match-rehash');
    expect(await passwords.verify('Password', foreign)).to.equal('mismatch');
  });

  it('is the same for a letter with its accent typed in one or two characters', async () => {
    const hash = await passwords.hash('caf\u00e9 au lait');

    expect(await passwords.verify('cafe\u0301 au lait', hash)).to.equal('match');
  });

  it('takes 128 characters of any kind and not one more', async () => {
    const longest = '💡'.repeat(128);
    const hash = await passwords.hash(longest);

    expect(await passwords.verify(longest, hash)).to.equal('match');
    expect(await passwords.verify(`${longest}x`, hash)).to.equal('mismatch');
    for (const impossible of [`${longest}x`, '']) {
      const error = await passwords.hash(impossible).catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(RangeError);
    }
  });

  it('matches nothing when it is not a hash, or would cost too much', async () => {
    const [, , , , salt, tag] = foreign.split('$');
    const texts = [
      '',
      'password',
      foreign.replace('argon2id', 'argon2i'),
      foreign.replace('v=19', 'v=16'),
      `${foreign}=`,
      `$argon2id$v=19$m=9999999,t=2,p=1$${salt}$${tag}`,
      `$argon2id$v=19$m=65536,t=999,p=1$${salt}$${tag}`,
      `$argon2id$v=19$m=8,t=1,p=9$${salt}$${tag}`,
      `$argon2id$v=19$m=65536,t=0,p=1$${salt}$${tag}`,
    ];
    for (const text of texts) expect(await passwords.verify('password', text), text).to.equal('mismatch');
  });

  it('is refused with 429 when too many wait already, and made again once they are through', async () => {
    const busy = new Passwords({ atOnce: 2, maxWaiting: 3 });
    const results = await Promise.allSettled(Array.from({ length: 9 }, () => busy.dummyVerify('x')));

    const refusals = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    expect(refusals).to.have.length(4);
    expect(refusals[0]).to.be.instanceOf(StatusError).with.nested.property('status.code', 429);
    expect(await busy.verify('password', foreign)).to.equal('match-rehash');
  });
});
