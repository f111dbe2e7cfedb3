import { expectExampleToPrintItsComments } from '../../../test/support/readme-example.ts';

describe('the example of the README', () => {
  it('prints what its comments say', () => expectExampleToPrintItsComments(new URL('../', import.meta.url)));
});
