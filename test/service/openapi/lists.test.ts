/** Parameters of lists in the OpenAPI document: generators and forms learn the properties from it. */
import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';

interface Parameter {
  name: string;
  schema: { pattern?: string; items?: { pattern?: string } };
}
interface Document {
  paths: Record<string, { get: { parameters: Parameter[] } }>;
}

const accepted = {
  sortBy: ['', 'username', 'a,username', 'd,phase,a,email', 'email,phase'],
  filterBy: ['', 'name,', 'username,Doe\\, Jane', 'state,active,phase,Normal', 'email,a\\b'],
};
const refused = {
  sortBy: ['nothing', 'x,username', 'a,', 'username,', 'd,nothing'],
  filterBy: ['nothing,x', 'name', 'name,a,b', 'name,a,phase'],
};

describe('E6 the OpenAPI document about lists', () => {
  const server = forSuite(() => startServer());

  const patternOf = async (path: string, name: 'sortBy' | 'filterBy') => {
    const { paths } = (await (await server.request('/openapi/v3')).json()) as Document;
    const schema = paths[path]?.get.parameters.find((parameter) => parameter.name === name)?.schema;
    return new RegExp(schema?.pattern ?? schema?.items?.pattern ?? '', 'u');
  };

  for (const name of ['sortBy', 'filterBy'] as const)
    it(`has a pattern of ${name} that matches exactly the values that the service accepts`, async () => {
      const pattern = await patternOf('/auth/v2/users', name);
      const statusOf = async (value: string) =>
        (await server.request(`/auth/v2/users?${name}=${encodeURIComponent(value)}`, { as: 'admin' })).status;
      for (const value of accepted[name]) expect([pattern.test(value), await statusOf(value)], value).to.deep.equal([true, 200]);
      for (const value of refused[name]) expect([pattern.test(value), await statusOf(value)], value).to.deep.equal([false, 400]);
    });

  it('has patterns for lists of configured resources, whose columns the document cannot know', async () => {
    const path = '/api/v2/resources/{group}/{version}/{resource}';
    expect('d,restarts,a,name').to.match(await patternOf(path, 'sortBy'));
    expect(',').to.not.match(await patternOf(path, 'sortBy'));
    expect('phase,Running').to.match(await patternOf(path, 'filterBy'));
    expect('phase').to.not.match(await patternOf(path, 'filterBy'));
  });
});
