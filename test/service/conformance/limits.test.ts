import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { expect } from 'chai';
import { aWidget } from './widget.ts';
import { suiteWorkspace } from './workspace.ts';

const failure = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' };

describe('invalid requests', () => {
  const { workspace, admin } = suiteWorkspace();

  it('are answered 413 with a body above 3 MiB', async () => {
    const answer = await admin.post(workspace.configMaps, { metadata: { name: 'huge' }, data: { a: 'a'.repeat(3 * 1024 * 1024) } });

    expect(answer.status).to.equal(413);
    expect(answer.body).to.deep.equal({
      ...failure,
      message: 'Request entity too large: limit is 3145728',
      reason: 'RequestEntityTooLarge',
      code: 413,
    });
  });

  it('are answered 400 with a body that is not JSON, or not an object', async () => {
    for (const collection of [workspace.configMaps, workspace.widgets]) {
      for (const body of ['{"metadata":', '', '[]', '"text"']) {
        const answer = await admin.post(collection, body);

        expect(answer.status, `${collection} ${body}`).to.equal(400);
        expect(answer.body).to.deep.include({ ...failure, reason: 'BadRequest', code: 400 });
      }
    }
  });

  it('are answered 400 with a field of the wrong type in a built-in object', async () => {
    const answer = await admin.post(workspace.configMaps, { metadata: { name: 'typed' }, data: { a: 1 } });

    expect(answer.status).to.equal(400);
    expect(answer.body).to.include({ reason: 'BadRequest' });
    expect(answer.body)
      .to.have.property('message')
      .that.matches(/^ConfigMap in version "v1" cannot be handled as a ConfigMap: /);
  });

  it('are answered 400 with a custom resource without a kind', async () => {
    const { kind, ...kindless } = aWidget('kindless');
    const answer = await admin.post(workspace.widgets, kindless);

    expect(kind).to.equal('Widget');
    expect(answer.status).to.equal(400);
    expect(answer.body).to.have.property('message').that.includes("Object 'Kind' is missing");
  });

  it('are answered 415 with another media type', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml']) {
      const answer = await admin.send('POST', workspace.configMaps, {
        headers: { 'content-type': type },
        body: '{"metadata":{"name":"a"}}',
      });

      expect(answer.status, type).to.equal(415);
      expect(answer.body).to.deep.include({ ...failure, reason: 'UnsupportedMediaType', code: 415 });
    }
  });

  it('are answered 400 with a broken body of a DELETE', async () => {
    await admin.create(workspace.configMaps, { metadata: { name: 'kept' } });
    const answer = await admin.delete(`${workspace.configMaps}/kept`, '{"preconditions":');

    expect(answer.status).to.equal(400);
    expect((await admin.get(`${workspace.configMaps}/kept`)).status).to.equal(200);
  });

  it('are answered 404 at a path that does not exist', async () => {
    const paths = [
      '/nothing',
      '/api/v9',
      '/api/v1/things',
      '/apis/nothing.example.com/v1/things',
      '/apis/conformance.example.com/v1/things',
    ];
    for (const path of paths) expect((await admin.get(path)).status, path).to.equal(404);
    expect((await admin.get('/api/v1/things')).body).to.deep.equal({
      ...failure,
      message: 'the server could not find the requested resource',
      reason: 'NotFound',
      details: {},
      code: 404,
    });
  });

  it('are answered 400 or 404 with a name that would change the path', async () => {
    for (const name of ['a%2fb', '%2e%2e%2fsecrets', 'a/b/c']) {
      expect((await admin.get(`${workspace.configMaps}/${name}`)).status, name).to.be.oneOf([400, 404]);
    }
  });

  it('are taken for JSON without a media type', async () => {
    const body = Buffer.from('{"metadata":{"name":"untyped"}}');
    const answer = await admin.send('POST', workspace.configMaps, { headers: { 'content-type': '' }, body });

    expect(answer.status).to.equal(201);
  });

  it('are answered 405 with a method that a path does not have', async () => {
    const calls: [string, string][] = [
      ['PUT', '/api/v1/namespaces'],
      ['PATCH', '/api/v1/namespaces'],
      ['POST', `${workspace.configMaps}/name`],
      ['DELETE', '/api/v1/configmaps'],
      ['DELETE', '/version'],
      ['OPTIONS', '/api/v1/namespaces'],
    ];
    for (const [method, path] of calls) {
      const answer = await admin.send(method, path, method === 'PUT' || method === 'PATCH' || method === 'POST' ? { body: {} } : {});

      expect(answer.status, `${method} ${path}`).to.equal(405);
      expect(answer.body).to.deep.equal({
        ...failure,
        message: 'the server does not allow this method on the requested resource',
        reason: 'MethodNotAllowed',
        details: {},
        code: 405,
      });
    }
  });

  it('change nothing but the object with __proto__ or constructor as a key', async () => {
    const body = '{"metadata":{"name":"proto","annotations":{"constructor":"x"}},"data":{"__proto__":"y","constructor":"z"}}';
    const answer = await admin.post(workspace.configMaps, body);

    expect(answer.status).to.equal(201);
    expect(answer.text).to.include('"__proto__":"y"');
    expect(answer.text).to.include('"constructor":"z"');
  });

  it('leave the connection open with a short body that is refused unread, and close it with a long one', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: workspace.server.certificateAuthority });
    const refused = async (bytes: number) => {
      const call = request(`${workspace.server.url}${workspace.configMaps}`, {
        agent,
        method: 'POST',
        headers: { authorization: 'Bearer unknown', 'content-type': 'application/json', 'content-length': bytes },
      });
      call.end('x'.repeat(bytes));
      const [answer]: IncomingMessage[] = await once(call, 'response');
      await answer?.resume().toArray();
      // The agent gets the connection back one turn later.
      await yieldToEventLoop();
      expect(answer?.statusCode).to.equal(401);
      return { isReused: call.reusedSocket, connection: answer?.headers.connection };
    };

    expect(await refused(100)).to.include({ isReused: false });
    const second = await refused(200 * 1024);
    expect(second.isReused).to.equal(true);
    expect(second.connection).to.not.equal('close');
    expect(await refused(600 * 1024)).to.deep.equal({ isReused: true, connection: 'close' });
    agent.destroy();
  });
});
