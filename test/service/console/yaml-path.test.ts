import { expect } from 'chai';
import { cursorIn, fieldOn, type Lines, typeAround } from '../../../web/src/editors/yaml-path.ts';

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations:
    example.com/url: http://x
spec:
  template:
    spec:
      containers:
      - name: app
        image: nginx
        ports:
          - containerPort: 80
            # a comment
            protocol: TCP

        command: ["sh"]
  script: |
    if x:
      do: y
  "quoted": 1
`;

/** Returns the lines of a text, and the position of | in it. */
function at(marked: string): [Lines, number, number] {
  const before = marked.slice(0, marked.indexOf('|!'));
  const all = marked.replace('|!', '').split('\n');
  const number = before.split('\n').length;
  return [{ count: all.length, line: (one) => all[one - 1] ?? '' }, number, before.length - (before.lastIndexOf('\n') + 1)];
}
const lines = at(`${deployment}|!`)[0];
const numberOf = (part: string) => deployment.slice(0, deployment.indexOf(part)).split('\n').length;
const path = (marked: string) => cursorIn(...at(marked))?.path.join('.');

describe('the field at the cursor of the editor', () => {
  for (const [part, expected] of [
    ['kind:', 'kind'],
    ['example.com/url', 'metadata.annotations.example.com/url'],
    ['name: app', 'spec.template.spec.containers.0.name'],
    ['image', 'spec.template.spec.containers.0.image'],
    ['containerPort', 'spec.template.spec.containers.0.ports.0.containerPort'],
    ['protocol', 'spec.template.spec.containers.0.ports.0.protocol'],
    ['command', 'spec.template.spec.containers.0.command'],
    ['"quoted"', 'spec.quoted'],
    ['# a comment', undefined],
    ['do: y', undefined],
  ] as const)
    it(`is ${expected ?? 'absent'} on the line of ${part}`, () => {
      expect(fieldOn(lines, numberOf(part))?.join('.')).to.equal(expected);
    });

  it('takes a name on an empty line by its indentation', () => {
    const text = (indent: string) => `spec:\n  template:\n    spec:\n      containers:\n      - name: app\n${indent}|!`;
    expect(path(text('        '))).to.equal('spec.template.spec.containers.0');
    expect(path(text('      '))).to.equal('spec.template.spec');
    expect(path(text('  '))).to.equal('spec');
    expect(path(text(''))).to.equal('');
  });

  it('takes a name after a dash, and a value after a colon', () => {
    expect(path('spec:\n  ports:\n  - po|!')).to.equal('spec.ports.0');
    expect(path('spec:\n  ports:\n    - |!')).to.equal('spec.ports.0');
    const value = cursorIn(...at('spec:\n  type: Clus|! # a comment'));
    expect(value).to.include({ at: 'value', from: 8, to: 12 });
    expect(value?.path).to.deep.equal(['spec', 'type']);
  });

  it('knows the names that stand beside it, and no others', () => {
    const cursor = cursorIn(...at('spec:\n  items:\n  - name: a\n    other: 1\n    |!\n    last: 2\n  - not: b\n  beside: c\nkind: X'));
    expect([...(cursor?.present ?? [])].sort()).to.deep.equal(['last', 'name', 'other']);
    expect([...(cursorIn(...at('apiVersion: v1\nkind: X\nmetadata:\n  name: a\n|!\ndata:\n  b: c'))?.present ?? [])].sort()).to.deep.equal([
      'apiVersion',
      'data',
      'kind',
      'metadata',
    ]);
  });

  it('is empty in a comment, a block scalar, a flow mapping, and before a dash', () => {
    for (const text of ['spec: # |!', 'data:\n  a: |\n    x|!', 'args:\n- >\n  x|!', 'spec: {a: |!', 'a:\n |!- b', 'a:\n-|!'])
      expect(path(text), text).to.equal(undefined);
  });

  it('starts again with each document', () => {
    const text = 'kind: A\nspec:\n---\napiVersion: v1\nkind: B\n  |!';
    expect(path(text)).to.equal('kind');
    expect(typeAround(at(text)[0], 6)).to.deep.equal({ apiVersion: 'v1', kind: 'B' });
    expect(typeAround(at(text)[0], 1)).to.deep.equal({ kind: 'A' });
    expect([...(cursorIn(...at('kind: A\n---\nspec: 1\n|!'))?.present ?? [])]).to.deep.equal(['spec']);
  });
});
