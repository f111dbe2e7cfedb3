import { expect } from 'chai';
import { InexactNumber, parseJson, stringifyJson } from '../../../web/src/api/json.ts';

describe('JSON in the console', () => {
  it('cases/04 keeps the digits of an int64', () => {
    for (const digits of ['9007199254740993', '9223372036854775807', '-9223372036854775808', '18446744073709551615']) {
      const text = `{"spec":{"account":${digits},"note":"x"}}`;

      expect(stringifyJson(parseJson(text))).to.equal(text);
      expect(parseJson(text)).to.deep.equal({ spec: { account: BigInt(digits), note: 'x' } });
    }
  });

  it('reads other values as JSON.parse does', () => {
    const values = '[9007199254740991,-0.5,1e21,0.1234567890123456789,"9007199254740993",null,true,1234567890123456.5]';

    expect(parseJson(values)).to.deep.equal(JSON.parse(values));
    expect(parseJson('{"n":9007199254740991}')).to.deep.equal({ n: 9_007_199_254_740_991 });
  });

  it('refuses a number that JSON does not have', () => {
    expect(() => stringifyJson({ spec: { share: Number.POSITIVE_INFINITY } })).to.throw(InexactNumber, 'share');
    expect(() => stringifyJson([Number.NaN])).to.throw(InexactNumber);
  });

  it('refuses to send a rounded number from a browser without source texts', () => {
    const { rawJSON } = JSON;
    delete JSON.rawJSON;
    try {
      expect(() => stringifyJson({ account: JSON.parse('9007199254740993') })).to.throw(InexactNumber, 'account');
      expect(() => stringifyJson({ account: 9_007_199_254_740_993n })).to.throw(InexactNumber, 'account');
      expect(stringifyJson({ account: 7 })).to.equal('{"account":7}');
    } finally {
      if (rawJSON) JSON.rawJSON = rawJSON;
    }
  });
});
