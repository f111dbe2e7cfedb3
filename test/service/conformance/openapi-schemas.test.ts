import { expect } from 'chai';
import { fieldAt, fieldsAt, item, type Schema, type Step } from '../../../web/src/api/schema-fields.ts';
import { schemaPositions } from '../../../web/src/api/schema-positions.ts';
import { eventually } from './eventually.ts';
import { suiteWorkspace } from './workspace.ts';

describe('schemas of an API server in the editor of the console', () => {
  const { admin } = suiteWorkspace();

  async function schemasAt(path: string) {
    // The API server publishes a new definition a moment after it is established.
    const text = await eventually(async () => {
      const { status, body } = await admin.get(`/openapi/v3/${path}`);
      expect(status).to.equal(200);
      return JSON.stringify(body);
    });
    const steps = schemaPositions(text);
    let step = steps.next();
    while (!step.done) step = steps.next();
    const positions = step.value;
    const resolve = (name: string) => {
      const position = positions.get(name);
      return position && (JSON.parse(text.slice(...position)) as Schema);
    };
    const root = (kind: string) => resolve([...positions.keys()].find((name) => name.endsWith(`.v1.${kind}`)) ?? '') as Schema;
    return { resolve, root };
  }

  it('describe the fields of a Role and a binding, their types and which are required', async () => {
    const { resolve, root } = await schemasAt('apis/rbac.authorization.k8s.io/v1');
    const field = (kind: string, ...path: Step[]) => fieldAt(root(kind), path, resolve);
    expect(field('Role', 'rules')).to.include({ type: '[]PolicyRule', shape: 'list' });
    expect(field('Role', 'rules', item, 'verbs')).to.include({ type: '[]string', isRequired: true });
    expect(field('Role', 'metadata', 'labels', 'app')?.type).to.equal('string');
    expect(field('RoleBinding', 'roleRef')).to.include({ type: 'RoleRef', isRequired: true });
    expect(fieldsAt(root('Role'), ['rules', item], resolve)[0]).to.include({ name: 'verbs', isRequired: true });
  });

  it('describe the fields of a custom resource', async () => {
    const { resolve, root } = await schemasAt('apis/conformance.example.com/v1');
    expect(fieldsAt(root('Widget'), ['spec'], resolve).map(({ name }) => name)).to.include.members(['color', 'size']);
    expect(fieldAt(root('Widget'), ['spec', 'size'], resolve)?.type).to.equal('integer');
  });
});
