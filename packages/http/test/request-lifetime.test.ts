import { EventEmitter } from 'node:events';
import { RequestLifetime } from '@atrium/http/request-deadline.ts';
import { expect } from 'chai';
import type { Context } from 'koa';

describe('the lifetime of a request', () => {
  it('calls back at its end, also those that begin to wait after the caller has left', () => {
    const res = Object.assign(new EventEmitter(), { writableFinished: false });
    const lifetime = new RequestLifetime({ req: { headers: {} }, res } as unknown as Context, 60_000);
    const ended: string[] = [];
    lifetime.onClose(() => ended.push('early'));
    expect(ended).to.deep.equal([]);
    res.emit('close');
    lifetime.onClose(() => ended.push('late'));

    expect(ended).to.deep.equal(['early', 'late']);
    expect(lifetime.isAbandoned).to.equal(true);
    expect(lifetime.signal.aborted).to.equal(true);
  });
});
