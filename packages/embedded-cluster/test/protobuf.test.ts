import { Cluster } from '@atrium/embedded-cluster/cluster.ts';
import { decodeProtobuf } from '@atrium/embedded-cluster/protobuf.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { expect } from 'chai';
import { Writer } from 'protobufjs/minimal.js';
import { request } from 'undici';
import { forSuite } from '../../../test/support/for-suite.ts';
import { Trusting } from '../../../test/support/trusting.ts';
import { samples } from './protobuf-samples.ts';

const text = 2;
const number = 0;
const tag = (field: number, wireType: number) => (field << 3) | wireType;

/** Wraps a message in the envelope of Kubernetes. */
function enveloped(kind: string, raw: Writer, apiVersion = 'v1'): Buffer {
  const writer = Writer.create().uint32(tag(1, text)).fork();
  writer.uint32(tag(1, text)).string(apiVersion).uint32(tag(2, text)).string(kind).ldelim();
  const bytes = writer.uint32(tag(2, text)).bytes(raw.finish()).finish();
  return Buffer.concat([Buffer.from('k8s\0'), bytes]);
}

const configMap = (write: (writer: Writer) => Writer) => enveloped('ConfigMap', write(Writer.create()));
const entry = (writer: Writer, key: string, value: string) =>
  writer.uint32(tag(2, text)).fork().uint32(tag(1, text)).string(key).uint32(tag(2, text)).string(value).ldelim();

function refusal(body: Buffer): unknown {
  try {
    return decodeProtobuf(body);
  } catch (error) {
    if (error instanceof StatusError) return error.status;
    throw error;
  }
}

describe('the protobuf of a request', () => {
  for (const { object, protobuf } of samples) {
    it(`is the same ${object.kind} as its JSON`, () => {
      expect(decodeProtobuf(Buffer.from(protobuf, 'base64'))).to.deep.equal(object);
    });
  }

  it('is refused wherever it breaks off', () => {
    for (const { object, protobuf } of samples) {
      // The envelope ends with two empty texts that are ignored.
      const bytes = Buffer.from(protobuf, 'base64').subarray(0, -4);
      for (let length = 0; length < bytes.length; length += 1) {
        const answer = refusal(bytes.subarray(0, length));
        // Between the two parts of the envelope, a prefix has no kind yet, or nothing but the kind.
        const isPartOnly = answer === undefined || Object.keys(Object(answer)).join() === 'apiVersion,kind';
        if (!isPartOnly) expect(answer, `${object.kind}, ${length} bytes`).to.include({ reason: 'BadRequest', code: 400 });
      }
    }
  });

  it('omits the members that the JSON would omit', () => {
    // kubectl create configmap c1 --from-literal=a=1 --from-literal=empty=
    const body = 'azhzAAoPCgJ2MRIJQ29uZmlnTWFwEicKEgoCYzESABoAIgAqADIAOABCABIGCgFhEgExEgkKBWVtcHR5EgAaACIA';

    expect(decodeProtobuf(Buffer.from(body, 'base64'))).to.deep.equal({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'c1' },
      data: { a: '1', empty: '' },
    });
  });

  it('is refused for a kind that is not built in, or the same kind of another version', () => {
    expect(decodeProtobuf(enveloped('Widget', Writer.create(), 'example.com/v1'))).to.equal(undefined);
    expect(decodeProtobuf(enveloped('Event', Writer.create(), 'events.k8s.io/v1'))).to.equal(undefined);
    expect(decodeProtobuf(enveloped('constructor', Writer.create()))).to.equal(undefined);
    expect(decodeProtobuf(Buffer.from('k8s\0'))).to.equal(undefined);
  });

  it('may have fields that are not known yet', () => {
    const body = configMap((writer) => entry(writer.uint32(tag(99, number)).uint32(7).uint32(tag(98, text)).string('new'), 'a', '1'));

    expect(decodeProtobuf(body)).to.deep.equal({ apiVersion: 'v1', kind: 'ConfigMap', data: { a: '1' } });
  });

  it('takes keys for nothing but keys', () => {
    const decoded = decodeProtobuf(configMap((writer) => entry(entry(writer, '__proto__', 'x'), 'constructor', 'y')));

    expect(JSON.stringify(decoded?.data)).to.equal('{"__proto__":"x","constructor":"y"}');
  });

  it('merges a message that comes in two parts', () => {
    const part = (writer: Writer, field: number, value: string) =>
      writer.uint32(tag(1, text)).fork().uint32(tag(field, text)).string(value).ldelim();
    const decoded = decodeProtobuf(configMap((writer) => part(part(writer, 1, 'c'), 3, 'n')));

    expect(decoded?.metadata).to.deep.equal({ name: 'c', namespace: 'n' });
  });

  it('is refused without its prefix', () => {
    const body = Buffer.from(samples[0]?.protobuf ?? '', 'base64');

    expect(refusal(body.subarray(4))).to.include({ reason: 'BadRequest', code: 400 });
  });
});

describe('a request in protobuf', () => {
  const configMaps = '/api/v1/namespaces/default/configmaps';
  const cluster = forSuite(() => Cluster.start({}));
  let agent: Trusting;
  let token: string;
  before(async () => {
    agent = new Trusting(cluster.certificateAuthority);
    token = await cluster.issueToken({ username: 'admin', groups: ['system:masters'] });
  });
  after(async () => {
    await agent.close();
  });

  async function send(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body: Buffer | null = null) {
    const answer = await request(`${cluster.url}${path}`, {
      method,
      dispatcher: agent,
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/vnd.kubernetes.protobuf,application/json',
        ...(body && { 'content-type': 'application/vnd.kubernetes.protobuf' }),
      },
      body,
    });
    return { status: answer.statusCode, type: answer.headers['content-type'], body: await answer.body.json() };
  }
  const named = (name: string, value: string) =>
    configMap((writer) => entry(writer.uint32(tag(1, text)).fork().uint32(tag(1, text)).string(name).ldelim(), 'a', value));

  it('creates and replaces, and is answered in JSON', async () => {
    const created = await send('POST', configMaps, named('written', '1'));
    expect(created).to.include({ status: 201, type: 'application/json' });
    expect(created.body).to.deep.include({ kind: 'ConfigMap', data: { a: '1' } });

    const replaced = await send('PUT', `${configMaps}/written`, named('written', '2'));
    expect(replaced.status).to.equal(200);

    const { body } = await send('GET', `${configMaps}/written`);
    expect(body).to.deep.include({ data: { a: '2' } });
  });

  it('is refused if its kind differs from the path', async () => {
    const answer = await send('POST', '/api/v1/namespaces/default/secrets', named('stray', '1'));

    expect(answer.status).to.equal(400);
    expect(answer.body).to.include({ kind: 'Status', reason: 'BadRequest' });
  });

  it('is answered 415 if its kind is unknown', async () => {
    const body = enveloped('CustomResourceDefinition', Writer.create(), 'apiextensions.k8s.io/v1');
    const answer = await send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', body);

    expect(answer.status).to.equal(415);
    expect(answer.body).to.include({
      reason: 'UnsupportedMediaType',
      message: 'the body of the request was in an unknown format - accepted media types include: application/json',
    });
  });

  it('is answered 400 if it breaks off, and writes nothing', async () => {
    const answer = await send('POST', configMaps, named('broken', '1').subarray(0, -1));

    expect(answer.status).to.equal(400);
    expect(answer.body).to.include({ kind: 'Status', reason: 'BadRequest' });
    expect(await send('GET', `${configMaps}/broken`)).to.include({ status: 404 });
  });
});
