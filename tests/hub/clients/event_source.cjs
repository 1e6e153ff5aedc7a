// A client of a hub's stream by npm `eventsource`, which comes back by itself. Each envelope that comes is printed.
const { EventSource } = require("eventsource");

const source = new EventSource(process.argv[2]);
source.onopen = () => console.log("open");
source.onmessage = ({ data }) => console.log(data);
source.addEventListener("__error", ({ data }) => console.log("missed", data));
