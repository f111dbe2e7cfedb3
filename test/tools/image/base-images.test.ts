import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { last, parseDockerfile } from './dockerfile.ts';

describe('E16 the base images', () => {
  it('are named by registry and tag, and the label has both', async () => {
    const stages = parseDockerfile(await readFile(new URL('../../../Dockerfile', import.meta.url), 'utf8'));

    expect(stages).to.have.length(2);
    for (const { base } of stages) expect(base).to.match(/^[a-z.]+\/[a-z0-9/-]+:[\w.-]+$/);
    const [, final] = stages;
    expect(final && last(final, 'LABEL')).to.include(`image.base.name="${final?.base}"`);
  });
});
