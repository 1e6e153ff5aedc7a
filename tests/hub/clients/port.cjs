// A MessagePort as a socket of a hub: what is published comes back. Prints it.
module.exports = async (hub) => {
  const { port1, port2 } = new MessageChannel();
  hub.addConnection(port1);
  await new Promise((resolve) => {
    port2.onmessage = ({ data }) => {
      console.log(data);
      resolve();
    };
    port2.postMessage('{"type":"__subscribe","payload":{"topic":"port"}}');
    port2.postMessage('{"type":"port","payload":"é"}');
  });
  hub.removeConnection(port1);
  port1.close();
  port2.close();
};
