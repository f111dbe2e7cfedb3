import { expect } from 'chai';
import { LoneMask, mask, masked, unmasked } from '../../../web/src/pages/cluster/yaml/masks.ts';

const applied = 'kubectl.kubernetes.io/last-applied-configuration';

describe('the masks of a Secret in the console', () => {
  const annotations = { [applied]: '{"data":{"password":"aHVudGVyMg=="}}', note: 'seen' };
  const secret = { kind: 'Secret', metadata: { name: 'hidden', annotations }, data: { password: 'aHVudGVyMg==', blob: 'AAEC/w==' } };

  it('cases/26 hide each value, and give it back as it was', () => {
    const hidden = masked(secret);

    expect(hidden.data).to.deep.equal({ password: mask, blob: mask });
    expect(hidden.metadata.annotations).to.deep.equal({ [applied]: mask, note: 'seen' });
    expect(unmasked(hidden, secret)).to.deep.equal(secret);
  });

  it('cases/26 keep a value that was written over a mask, and omitted values', () => {
    const typed = { ...masked(secret), data: { password: 'bmV3', more: 'eA==' } };
    const sent = unmasked(typed, secret);

    expect(sent.data).to.deep.equal({ password: 'bmV3', more: 'eA==' });
    expect(masked({ ...secret, data: { password: 'bmV3', blob: 'AAEC/w==' } }, secret).data).to.deep.equal({
      password: 'bmV3',
      blob: mask,
    });
  });

  it('cases/26 are refused where they replace no stored value', () => {
    for (const typed of [
      { ...secret, data: { other: mask } },
      { ...secret, stringData: { password: mask } },
    ])
      expect(() => unmasked(typed, secret)).to.throw(LoneMask);
    expect(unmasked({ metadata: { annotations: {} } }, secret)).to.deep.equal({ metadata: { annotations: {} } });
  });
});
