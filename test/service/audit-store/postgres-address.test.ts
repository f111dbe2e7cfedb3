import { expect } from 'chai';
import { addressOf } from '../../../src/store-server/postgres-server.ts';

const problemOf = (text: string): string => {
  try {
    addressOf(text);
    return 'accepted';
  } catch (error) {
    return (error as Error).message;
  }
};

describe('the address of PostgreSQL', () => {
  it('requires TLS but at a Unix socket and where it is disabled by name', () => {
    const server = { host: 'db.example.com', port: 5432, user: 'atrium', password: 'a b', database: 'audit' };
    expect(addressOf('postgresql://atrium:a%20b@db.example.com/audit')).to.deep.equal({ ...server, hasTLS: true });
    expect(addressOf('postgres://atrium:a%20b@db.example.com:6432/audit?sslmode=disable')).to.deep.equal({
      ...{ ...server, port: 6432 },
      hasTLS: false,
    });
    expect(addressOf('postgresql:///audit?host=%2Frun%2Fpostgresql&user=atrium')).to.include({ host: '/run/postgresql', hasTLS: false });
    expect(addressOf('postgresql://atrium:50%@[::1]/audit')).to.include({ host: '::1', password: '50%', hasTLS: true });
  });

  it('is refused with a reason that shows nothing of its password', () => {
    const refused: [string, string][] = [
      ['', 'holds no address'],
      ['secret', 'holds no address'],
      ['mysql://atrium:secret@db/audit', 'holds no address'],
      ['postgresql://atrium:secret@db:port/audit', 'holds no address'],
      ['postgresql://atrium:secret@a:5432,b:5432/audit', 'holds no address'],
      ['postgresql://atrium:secret@db', 'names no database'],
      ['postgresql://:secret@db/audit', 'names no user'],
      ['postgresql://atrium:secret@/audit', 'holds no address'],
      ['postgresql:///audit?user=secret', 'names no host'],
      ['postgresql://atrium:secret@db/audit?sslmode=prefer', 'sslmode must be disable, or one of require'],
      ['postgresql://atrium:secret@db/audit?sslmode=no-verify', 'sslmode must be disable, or one of require'],
      ['postgresql://atrium:secret@db/audit?sslrootcert=/ca', 'the parameter sslrootcert'],
      ['postgresql://atrium:secret@db/audit?%0asecr%65t=1', 'the parameter ?'],
    ];
    for (const [text, reason] of refused) expect(problemOf(text), text).to.include(reason);
    for (const [text] of refused.slice(0, -1)) expect(problemOf(text), text).not.to.include('secret');
  });
});
