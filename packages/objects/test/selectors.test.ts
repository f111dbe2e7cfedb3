import { parseFieldSelector, parseLabelSelector } from '@atrium/objects/selectors.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { expect } from 'chai';

const refusal = (parse: () => unknown) => {
  try {
    parse();
  } catch (error) {
    if (error instanceof StatusError) return { code: error.status.code, message: error.status.message };
    throw error;
  }
  return undefined;
};

describe('a label selector', () => {
  const production = { env: 'production', tier: 'web', 'example.com/size': '10' };
  const rows: [selector: string, matches: boolean][] = [
    ['', true],
    ['env=production', true],
    ['env == production , tier=web', true],
    ['env=production,tier=db', false],
    ['env!=test', true],
    ['missing!=anything', true],
    ['env', true],
    ['missing', false],
    ['!missing', true],
    ['! env', false],
    ['env in (test, production)', true],
    ['env notin (test,production)', false],
    ['missing notin (a)', true],
    ['missing in (a)', false],
    ['env in (production),tier', true],
    ['example.com/size>9', true],
    ['example.com/size < 10', false],
    ['env>1', false],
    ['missing=', false],
    ['env in (,production)', true],
    ['in', false],
    ['notin=a', false],
  ];
  for (const [selector, matches] of rows) {
    it(`${matches ? 'selects' : 'leaves out'} an object: ${JSON.stringify(selector)}`, () => {
      expect(parseLabelSelector(selector)(production)).to.equal(matches);
    });
  }

  it('selects an empty label by an empty value, not an absent one', () => {
    expect(parseLabelSelector('env=')({ env: '' })).to.equal(true);
    expect(parseLabelSelector('env=')({})).to.equal(false);
  });

  it('does not find labels on the prototype', () => {
    expect(parseLabelSelector('constructor')({})).to.equal(false);
  });

  const broken: [selector: string, message: RegExp][] = [
    ['env=a b', /^found 'b', expected: ',' or 'end of string'$/],
    [',', /^found ',', expected: !, identifier, or 'end of string'$/],
    ['env=a,', /^found '', expected: identifier after ','$/],
    ['env in a', /found 'a' expected: '\('/],
    ['env in (a', /found '', expected: ',' or '\)'/],
    ['env in ()', /for 'in', 'notin' operators, values set can't be empty/],
    ['env ~ a', /^unable to parse requirement: found '~', expected: in, notin, =, ==, !=, gt, lt$/],
    ['a//b=c', /a valid label key must consist of alphanumeric characters/],
    ['env=-a', /Invalid value: "-a": a valid label must be an empty string or consist of/],
    [`env=${'a'.repeat(64)}`, /must be no more than 63/],
    ['env>a', /for 'Gt', 'Lt' operators, the value must be an integer/],
    ['!', /found '', expected: identifier/],
  ];
  for (const [selector, message] of broken) {
    it(`is refused with 400 and the reason: ${JSON.stringify(selector.slice(0, 12))}`, () => {
      const refused = refusal(() => parseLabelSelector(selector));

      expect(refused?.code).to.equal(400);
      expect(refused?.message).to.match(message);
    });
  }
});

describe('a field selector', () => {
  it('is a list of fields, operators and values', () => {
    expect(parseFieldSelector('metadata.name=a,spec.email==b@c,status.phase!=')).to.deep.equal([
      { field: 'metadata.name', operator: '=', value: 'a' },
      { field: 'spec.email', operator: '=', value: 'b@c' },
      { field: 'status.phase', operator: '!=', value: '' },
    ]);
    expect(parseFieldSelector('')).to.deep.equal([]);
  });

  it('takes commas, equal signs and backslashes behind a backslash as they are', () => {
    expect(parseFieldSelector('a=x\\,y\\=z\\\\')).to.deep.equal([{ field: 'a', operator: '=', value: 'x,y=z\\' }]);
  });

  it('is refused with 400 and the reason if it is invalid', () => {
    expect(refusal(() => parseFieldSelector('abc'))).to.deep.equal({
      code: 400,
      message: "invalid selector: 'abc'; can't understand 'abc'",
    });
    expect(refusal(() => parseFieldSelector('a=b\\n'))?.message).to.equal('invalid field selector: invalid escape sequence: \\n');
    expect(refusal(() => parseFieldSelector('a=b=c'))?.message).to.equal('invalid field selector: unescaped character in value: =');
    expect(refusal(() => parseFieldSelector('a=b\\'))?.code).to.equal(400);
  });
});
