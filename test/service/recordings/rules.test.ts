import { expect } from 'chai';
import { parseConfig } from '../../../src/config/load.ts';
import { modeOf } from '../../../src/recordings/rules.ts';

const rulesOf = (...recordings: object[]) => parseConfig({ yaml: JSON.stringify({ audit: { recordings } }) }).audit.recordings;
const shell = (namespace: string, groups: string[] = [], policies: string[] = []) => ({ namespace, groups, policies: () => policies });

describe('the rules of audit.recordings', () => {
  it('record nothing without a rule', () => {
    expect(modeOf(rulesOf(), shell('shop'))).to.equal('off');
  });

  it('decide by the first rule whose conditions all hold', () => {
    const rules = rulesOf(
      { namespaces: ['payments'], groups: ['staff', 'contractors'], mode: 'off' },
      { namespaces: ['payments', 'shop'], mode: 'required' },
      { policies: ['debug'], mode: 'required' },
      { groups: ['contractors'], mode: 'besteffort' },
    );
    expect(modeOf(rules, shell('payments', ['staff']))).to.equal('off');
    expect(modeOf(rules, shell('payments', ['others']))).to.equal('required');
    expect(modeOf(rules, shell('dev', ['contractors'], ['debug']))).to.equal('required');
    expect(modeOf(rules, shell('dev', ['contractors'], ['others']))).to.equal('besteffort');
    expect(modeOf(rules, shell('dev'))).to.equal('off');
  });

  it('refuse an empty condition and an unknown mode', () => {
    for (const rule of [{ namespaces: [], mode: 'off' }, { mode: 'on' }, { mode: 'required', users: ['ada'] }])
      expect(() => rulesOf(rule)).to.throw();
  });
});
