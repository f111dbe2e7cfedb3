import { expect } from 'chai';
import { flatFiles, longFunctions, maxFlatFiles, maxFunctionLines } from '../../../scripts/console-structure.ts';

describe('the structure of the console', () => {
  it(`has no function or component over ${maxFunctionLines} lines`, () => {
    expect(longFunctions().map(({ path, name, lines }) => `${path}: ${name} has ${lines} lines`)).to.deep.equal([]);
  });

  it(`has at most ${maxFlatFiles} files directly in the folder of the cluster pages`, () => {
    const files = flatFiles();
    expect(files.length, files.join(' ')).to.be.within(1, maxFlatFiles);
  });
});
