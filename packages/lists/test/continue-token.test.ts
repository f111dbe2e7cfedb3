import { KeySeal, type Seal } from '@atrium/http/seal.ts';
import { ContinueTokens } from '@atrium/lists/page.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { expect } from 'chai';

const sealWith = (byte: number): Seal => {
  const seal = new KeySeal({ kid: 'k1', secret: new Uint8Array(32).fill(byte) }, 'continue');
  return { seal: (text) => seal.seal(text), open: async (sealed) => seal.open(sealed) };
};

const position = { values: ['jane doe', undefined, 1_770_000_000], name: 'jane' };

describe('a continue token', () => {
  let time = Date.parse('2026-03-01T10:00:00Z');
  const now = () => new Date(time);
  const tokens = new ContinueTokens({ seal: sealWith(1), now });

  const codeOf = async (reading: Promise<unknown>) => {
    const failure = await reading.catch((error: unknown) => error);
    if (!(failure instanceof StatusError)) throw new Error('was not refused');
    return [failure.status.code, failure.status.reason];
  };

  it('marks where to continue, also for another replica that has the key', async () => {
    const token = tokens.issue(position, 'query');

    expect(await new ContinueTokens({ seal: sealWith(1), now }).read(token, 'query')).to.deep.equal(position);
  });

  it('hides its content, and is fit for a URL', () => {
    const token = tokens.issue(position, 'query');

    expect(token).to.match(/^[\w.-]+$/);
    expect(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('latin1')).not.to.contain('jane');
    expect(tokens.issue(position, 'query')).not.to.equal(token);
  });

  it('is 400 with another query, and under another key', async () => {
    const token = tokens.issue(position, 'query');

    expect(await codeOf(tokens.read(token, 'other'))).to.deep.equal([400, 'BadRequest']);
    expect(await codeOf(new ContinueTokens({ seal: sealWith(2), now }).read(token, 'query'))).to.deep.equal([400, 'BadRequest']);
  });

  it('lives an hour, and is 410 then', async () => {
    const token = tokens.issue(position, 'query');

    time += 3600_000;
    expect(await tokens.read(token, 'query')).to.deep.equal(position);
    time += 1000;
    expect(await codeOf(tokens.read(token, 'query'))).to.deep.equal([410, 'Expired']);
  });
});
