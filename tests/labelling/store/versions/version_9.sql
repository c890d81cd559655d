BEGIN TRANSACTION;
CREATE TABLE api_tokens (
	name TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	who TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	added_at DOUBLE NOT NULL, 
	expires_at DOUBLE, 
	PRIMARY KEY (name)
);
CREATE TABLE assignments (
	item INTEGER NOT NULL, 
	who TEXT NOT NULL, 
	PRIMARY KEY (item), 
	FOREIGN KEY(item) REFERENCES items (id)
);
INSERT INTO "assignments" VALUES(7,'ann');
INSERT INTO "assignments" VALUES(9,'ann');
INSERT INTO "assignments" VALUES(15,'ann');
INSERT INTO "assignments" VALUES(16,'ann');
INSERT INTO "assignments" VALUES(19,'ann');
CREATE TABLE changes (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at DOUBLE NOT NULL, 
	who TEXT NOT NULL, 
	what TEXT NOT NULL, 
	detail JSON NOT NULL
);
INSERT INTO "changes" VALUES(1,1.7000000266533339024e+09,'owner','add labels','{"names": ["left", "l\u00f3w; \"2\"", "far", "near", "old"]}');
INSERT INTO "changes" VALUES(2,1.70000003020539450651e+09,'owner','add labels','{"names": ["new"]}');
INSERT INTO "changes" VALUES(3,1.70000003024895358083e+09,'owner','rename label','{"old": "far", "new": "far away"}');
INSERT INTO "changes" VALUES(4,1.70000003033300232891e+09,'owner','merge labels','{"source": "near", "target": "far away"}');
INSERT INTO "changes" VALUES(5,1.70000003038500475884e+09,'owner','retire label','{"name": "old"}');
INSERT INTO "changes" VALUES(6,1.70000003045584082601e+09,'owner','add items','{"number": 1}');
INSERT INTO "changes" VALUES(7,1.70000004662622332569e+09,'owner','add labels','{"names": ["hinted"]}');
INSERT INTO "changes" VALUES(8,1.70000004673424601553e+09,'owner','add opinions','{"source": "rules", "items": 2}');
CREATE TABLE event_values (
	event INTEGER NOT NULL, 
	label INTEGER NOT NULL, 
	value SMALLINT NOT NULL, 
	PRIMARY KEY (event, label), 
	FOREIGN KEY(event) REFERENCES events (id), 
	FOREIGN KEY(label) REFERENCES labels (id)
)
 WITHOUT ROWID

;
INSERT INTO "event_values" VALUES(1,1,1);
INSERT INTO "event_values" VALUES(1,2,0);
INSERT INTO "event_values" VALUES(1,3,0);
INSERT INTO "event_values" VALUES(1,4,1);
INSERT INTO "event_values" VALUES(1,5,0);
INSERT INTO "event_values" VALUES(2,1,1);
INSERT INTO "event_values" VALUES(2,2,0);
INSERT INTO "event_values" VALUES(2,3,0);
INSERT INTO "event_values" VALUES(2,4,1);
INSERT INTO "event_values" VALUES(2,5,0);
INSERT INTO "event_values" VALUES(3,1,1);
INSERT INTO "event_values" VALUES(3,2,0);
INSERT INTO "event_values" VALUES(3,3,1);
INSERT INTO "event_values" VALUES(3,4,0);
INSERT INTO "event_values" VALUES(3,5,0);
INSERT INTO "event_values" VALUES(4,1,1);
INSERT INTO "event_values" VALUES(4,2,0);
INSERT INTO "event_values" VALUES(4,3,1);
INSERT INTO "event_values" VALUES(4,4,0);
INSERT INTO "event_values" VALUES(4,5,0);
INSERT INTO "event_values" VALUES(5,1,-1);
INSERT INTO "event_values" VALUES(5,2,1);
INSERT INTO "event_values" VALUES(5,3,0);
INSERT INTO "event_values" VALUES(5,4,0);
INSERT INTO "event_values" VALUES(5,5,1);
INSERT INTO "event_values" VALUES(6,1,-1);
INSERT INTO "event_values" VALUES(6,2,1);
INSERT INTO "event_values" VALUES(6,3,0);
INSERT INTO "event_values" VALUES(6,4,0);
INSERT INTO "event_values" VALUES(6,5,1);
INSERT INTO "event_values" VALUES(7,1,1);
INSERT INTO "event_values" VALUES(7,2,0);
INSERT INTO "event_values" VALUES(7,3,0);
INSERT INTO "event_values" VALUES(7,4,1);
INSERT INTO "event_values" VALUES(7,5,0);
INSERT INTO "event_values" VALUES(8,1,1);
INSERT INTO "event_values" VALUES(8,2,0);
INSERT INTO "event_values" VALUES(8,3,0);
INSERT INTO "event_values" VALUES(8,4,1);
INSERT INTO "event_values" VALUES(8,5,0);
INSERT INTO "event_values" VALUES(9,1,1);
INSERT INTO "event_values" VALUES(9,2,0);
INSERT INTO "event_values" VALUES(9,3,1);
INSERT INTO "event_values" VALUES(9,4,0);
INSERT INTO "event_values" VALUES(9,5,0);
INSERT INTO "event_values" VALUES(10,1,1);
INSERT INTO "event_values" VALUES(10,2,0);
INSERT INTO "event_values" VALUES(10,3,1);
INSERT INTO "event_values" VALUES(10,4,0);
INSERT INTO "event_values" VALUES(10,5,0);
INSERT INTO "event_values" VALUES(11,1,1);
INSERT INTO "event_values" VALUES(11,2,1);
INSERT INTO "event_values" VALUES(11,3,0);
INSERT INTO "event_values" VALUES(11,4,0);
INSERT INTO "event_values" VALUES(11,5,1);
INSERT INTO "event_values" VALUES(12,1,1);
INSERT INTO "event_values" VALUES(12,2,1);
INSERT INTO "event_values" VALUES(12,3,0);
INSERT INTO "event_values" VALUES(12,4,0);
INSERT INTO "event_values" VALUES(12,5,1);
INSERT INTO "event_values" VALUES(15,1,1);
INSERT INTO "event_values" VALUES(15,2,0);
INSERT INTO "event_values" VALUES(16,1,0);
INSERT INTO "event_values" VALUES(17,4,0);
INSERT INTO "event_values" VALUES(17,6,0);
INSERT INTO "event_values" VALUES(18,4,1);
INSERT INTO "event_values" VALUES(18,6,0);
INSERT INTO "event_values" VALUES(19,4,0);
INSERT INTO "event_values" VALUES(19,6,1);
INSERT INTO "event_values" VALUES(20,4,1);
INSERT INTO "event_values" VALUES(20,6,0);
INSERT INTO "event_values" VALUES(21,4,0);
INSERT INTO "event_values" VALUES(21,6,0);
INSERT INTO "event_values" VALUES(22,3,1);
INSERT INTO "event_values" VALUES(23,3,1);
INSERT INTO "event_values" VALUES(24,3,1);
INSERT INTO "event_values" VALUES(25,3,1);
INSERT INTO "event_values" VALUES(26,3,0);
INSERT INTO "event_values" VALUES(27,3,1);
INSERT INTO "event_values" VALUES(28,3,0);
INSERT INTO "event_values" VALUES(29,3,1);
INSERT INTO "event_values" VALUES(30,3,0);
INSERT INTO "event_values" VALUES(31,1,1);
INSERT INTO "event_values" VALUES(32,1,1);
INSERT INTO "event_values" VALUES(33,7,1);
INSERT INTO "event_values" VALUES(34,1,1);
INSERT INTO "event_values" VALUES(34,2,1);
INSERT INTO "event_values" VALUES(34,3,1);
INSERT INTO "event_values" VALUES(34,6,1);
INSERT INTO "event_values" VALUES(34,7,1);
INSERT INTO "event_values" VALUES(35,7,1);
INSERT INTO "event_values" VALUES(36,7,0);
INSERT INTO "event_values" VALUES(37,7,0);
INSERT INTO "event_values" VALUES(38,7,0);
CREATE TABLE events (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at DOUBLE NOT NULL, 
	who TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	item INTEGER NOT NULL, 
	asked INTEGER NOT NULL, 
	reason TEXT NOT NULL, 
	lease TEXT, 
	undoes INTEGER, 
	FOREIGN KEY(item) REFERENCES items (id), 
	UNIQUE (lease), 
	UNIQUE (undoes), 
	FOREIGN KEY(undoes) REFERENCES events (id)
);
INSERT INTO "events" VALUES(1,1.700000029315666914e+09,'ann','answer',16,0,'start','8d38e431cfb6ff2b',NULL);
INSERT INTO "events" VALUES(2,1700000029.39755,'bob','answer',16,0,'start','8af7eabc011cd476',NULL);
INSERT INTO "events" VALUES(3,1.70000002944586110116e+09,'ann','answer',5,0,'start','b174ffb10605a9e8',NULL);
INSERT INTO "events" VALUES(4,1.70000002950195598606e+09,'bob','answer',5,0,'start','2c087431be81f39b',NULL);
INSERT INTO "events" VALUES(5,1700000029.56188,'ann','answer',4,0,'start','a49c8219ea83be12',NULL);
INSERT INTO "events" VALUES(6,1.70000002961036801333e+09,'bob','answer',4,0,'start','072e923735457ac8',NULL);
INSERT INTO "events" VALUES(7,1.70000002967404198646e+09,'ann','answer',11,0,'start','30620676bd55446a',NULL);
INSERT INTO "events" VALUES(8,1.7000000297258980274e+09,'bob','answer',11,0,'start','3b69c173906d4543',NULL);
INSERT INTO "events" VALUES(9,1.70000002978978800773e+09,'ann','answer',13,0,'start','cf1d3de61e019998',NULL);
INSERT INTO "events" VALUES(10,1.70000002984589600567e+09,'bob','answer',13,0,'start','71cc298d74f0638b',NULL);
INSERT INTO "events" VALUES(11,1.70000002990178704256e+09,'ann','answer',9,0,'start','dcc818d30e771e1a',NULL);
INSERT INTO "events" VALUES(12,1.70000002995376110074e+09,'bob','answer',9,0,'start','d154929a4bc96c02',NULL);
INSERT INTO "events" VALUES(13,1.70000002997598505024e+09,'ann','undo',9,0,'start',NULL,11);
INSERT INTO "events" VALUES(14,1.70000003006136894221e+09,'bob','skip',1,0,'start','9dc375fb64f1a81a',NULL);
INSERT INTO "events" VALUES(15,1.70000003014902901655e+09,'cid','answer',2,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(16,1.70000003017113208774e+09,'cid','answer',2,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(17,1.7000000302788910866e+09,'dan','answer',4,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(18,1.70000003027967309951e+09,'dan','answer',5,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(19,1.70000003028028488154e+09,'dan','answer',6,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(20,1.70000003030187892914e+09,'dan','answer',7,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(21,1.70000003030262088771e+09,'dan','answer',8,0,'told',NULL,NULL);
INSERT INTO "events" VALUES(22,1.70000003033536791798e+09,'ann','answer',16,3,'start','merged:4:16:ann',NULL);
INSERT INTO "events" VALUES(23,1.70000003033536791798e+09,'bob','answer',16,3,'start','merged:4:16:bob',NULL);
INSERT INTO "events" VALUES(24,1.70000003033536791798e+09,'ann','answer',11,3,'start','merged:4:11:ann',NULL);
INSERT INTO "events" VALUES(25,1.70000003033536791798e+09,'bob','answer',11,3,'start','merged:4:11:bob',NULL);
INSERT INTO "events" VALUES(26,1.70000003033536791798e+09,'dan','answer',4,3,'told','merged:4:4:dan',NULL);
INSERT INTO "events" VALUES(27,1.70000003033536791798e+09,'dan','answer',5,3,'told','merged:4:5:dan',NULL);
INSERT INTO "events" VALUES(28,1.70000003033536791798e+09,'dan','answer',6,3,'told','merged:4:6:dan',NULL);
INSERT INTO "events" VALUES(29,1.70000003033536791798e+09,'dan','answer',7,3,'told','merged:4:7:dan',NULL);
INSERT INTO "events" VALUES(30,1.70000003033536791798e+09,'dan','answer',8,3,'told','merged:4:8:dan',NULL);
INSERT INTO "events" VALUES(31,1.70000003045460581782e+09,'owner','answer',21,0,'given',NULL,NULL);
INSERT INTO "events" VALUES(32,1.70000004660002899167e+09,'eve','answer',2,0,'settled',NULL,NULL);
INSERT INTO "events" VALUES(33,1.70000004665374445916e+09,'owner','answer',3,7,'told',NULL,NULL);
INSERT INTO "events" VALUES(34,1.70000004669901490206e+09,'ann','answer',9,0,'start','d25c483459ec4c44',NULL);
INSERT INTO "events" VALUES(35,1.70000004698137688633e+09,'bob','answer',5,7,'sweep','aeab10ecc92afada-0000',NULL);
INSERT INTO "events" VALUES(36,1.70000004698137688633e+09,'bob','answer',7,7,'sweep','aeab10ecc92afada-0001',NULL);
INSERT INTO "events" VALUES(37,1.70000004698137688633e+09,'bob','answer',11,7,'sweep','aeab10ecc92afada-0002',NULL);
INSERT INTO "events" VALUES(38,1.70000004698137688633e+09,'bob','answer',13,7,'sweep','aeab10ecc92afada-0003',NULL);
CREATE TABLE invitations (
	digest TEXT NOT NULL, 
	who TEXT NOT NULL, 
	expires_at DOUBLE NOT NULL, 
	used_at DOUBLE, 
	PRIMARY KEY (digest), 
	FOREIGN KEY(who) REFERENCES users (name)
);
INSERT INTO "invitations" VALUES('37cf5e944c4cb43150dfa4004dfeca5dadf9acbb57346158f09bb1dae98b00bf','ann',1.70060484649909186361e+09,NULL);
INSERT INTO "invitations" VALUES('6cc664100d609058b067bbb8a0be6d25564fe1cfa49b7883b789817bf6f6b01b','eve',1.70060484653459715841e+09,NULL);
CREATE TABLE items (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	content JSON, 
	numbers BLOB, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "items" VALUES(1,'p0','{"text": "point 0", "gr\u00f6\u00dfe": 0.0}',X'00000000000000000000000000000000');
INSERT INTO "items" VALUES(2,'p1','{"text": "point 1", "gr\u00f6\u00dfe": 0.5}',X'000000000000F03F0000000000000000');
INSERT INTO "items" VALUES(3,'p2','{"text": "point 2", "gr\u00f6\u00dfe": 1.0}',X'00000000000000400000000000000000');
INSERT INTO "items" VALUES(4,'p3','{"text": "point 3", "gr\u00f6\u00dfe": 1.5}',X'00000000000008400000000000000000');
INSERT INTO "items" VALUES(5,'p4','{"text": "point 4", "gr\u00f6\u00dfe": 2.0}',X'00000000000010400000000000000000');
INSERT INTO "items" VALUES(6,'p5','{"text": "point 5", "gr\u00f6\u00dfe": 2.5}',X'0000000000000000000000000000F03F');
INSERT INTO "items" VALUES(7,'p6','{"text": "point 6", "gr\u00f6\u00dfe": 3.0}',X'000000000000F03F000000000000F03F');
INSERT INTO "items" VALUES(8,'p7','{"text": "point 7", "gr\u00f6\u00dfe": 3.5}',X'0000000000000040000000000000F03F');
INSERT INTO "items" VALUES(9,'p8','{"text": "point 8", "gr\u00f6\u00dfe": 4.0}',X'0000000000000840000000000000F03F');
INSERT INTO "items" VALUES(10,'p9','{"text": "point 9", "gr\u00f6\u00dfe": 4.5}',X'0000000000001040000000000000F03F');
INSERT INTO "items" VALUES(11,'p10','{"text": "point 10", "gr\u00f6\u00dfe": 5.0}',X'00000000000000000000000000000040');
INSERT INTO "items" VALUES(12,'p11','{"text": "point 11", "gr\u00f6\u00dfe": 5.5}',X'000000000000F03F0000000000000040');
INSERT INTO "items" VALUES(13,'p12','{"text": "point 12", "gr\u00f6\u00dfe": 6.0}',X'00000000000000400000000000000040');
INSERT INTO "items" VALUES(14,'p13','{"text": "point 13", "gr\u00f6\u00dfe": 6.5}',X'00000000000008400000000000000040');
INSERT INTO "items" VALUES(15,'p14','{"text": "point 14", "gr\u00f6\u00dfe": 7.0}',X'00000000000010400000000000000040');
INSERT INTO "items" VALUES(16,'p15','{"text": "point 15", "gr\u00f6\u00dfe": 7.5}',X'00000000000000000000000000000840');
INSERT INTO "items" VALUES(17,'p16','{"text": "point 16", "gr\u00f6\u00dfe": 8.0}',X'000000000000F03F0000000000000840');
INSERT INTO "items" VALUES(18,'p17','{"text": "point 17", "gr\u00f6\u00dfe": 8.5}',X'00000000000000400000000000000840');
INSERT INTO "items" VALUES(19,'p18','{"text": "point 18", "gr\u00f6\u00dfe": 9.0}',X'00000000000008400000000000000840');
INSERT INTO "items" VALUES(20,'p19','{"text": "point 19", "gr\u00f6\u00dfe": 9.5}',X'00000000000010400000000000000840');
INSERT INTO "items" VALUES(21,'given','"x"',X'00000000000022400000000000002240');
CREATE TABLE labels (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	retired_at DOUBLE, 
	merged_into INTEGER, 
	start JSON, 
	PRIMARY KEY (id), 
	FOREIGN KEY(merged_into) REFERENCES labels (id)
);
INSERT INTO "labels" VALUES(1,'left',NULL,NULL,NULL);
INSERT INTO "labels" VALUES(2,'lów; "2"',NULL,NULL,NULL);
INSERT INTO "labels" VALUES(3,'far away',NULL,NULL,NULL);
INSERT INTO "labels" VALUES(4,'near',NULL,3,NULL);
INSERT INTO "labels" VALUES(5,'old',1.70000003038500475884e+09,NULL,NULL);
INSERT INTO "labels" VALUES(6,'new',NULL,NULL,NULL);
INSERT INTO "labels" VALUES(7,'hinted',NULL,NULL,'{"like": {"1": 0.5}}');
CREATE TABLE labelwise_project (
	"key" TEXT NOT NULL, 
	value JSON NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "labelwise_project" VALUES('format','"labelwise project"');
INSERT INTO "labelwise_project" VALUES('version',9);
INSERT INTO "labelwise_project" VALUES('identity','"f14597e9c5ce45f2820c338881805a3d"');
INSERT INTO "labelwise_project" VALUES('settings','{"model": "binary_relevance", "strategy": "variance_reduction", "model_options": {}, "features": {"kind": "numbers", "width": 2, "sparse": false}, "control": 0.2, "guard": false, "overlap": 2, "overlap_share": 1.0, "lease_seconds": 600.0, "ready": 12, "read_cost": 0.0, "answer_cost": 1.0, "label_costs": {}, "price_list": null, "start": 10, "verify": false, "hints": true, "random_state": 0, "target_f1": null, "worth_an_hour": null}');
INSERT INTO "labelwise_project" VALUES('picture_folders','[]');
CREATE TABLE leases (
	token TEXT NOT NULL, 
	item INTEGER NOT NULL, 
	label INTEGER NOT NULL, 
	who TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	score DOUBLE, 
	rank INTEGER NOT NULL, 
	beliefs BLOB, 
	given_at DOUBLE NOT NULL, 
	expires_at DOUBLE NOT NULL, 
	state TEXT NOT NULL, 
	words TEXT, 
	PRIMARY KEY (token), 
	FOREIGN KEY(item) REFERENCES items (id)
);
INSERT INTO "leases" VALUES('8d38e431cfb6ff2b',16,0,'ann','start',NULL,0,NULL,1.70000002816726493836e+09,1.70000062816728496556e+09,'answered',NULL);
INSERT INTO "leases" VALUES('8af7eabc011cd476',16,0,'bob','start',NULL,0,NULL,1.70000002936665105821e+09,1700000629.36666,'answered',NULL);
INSERT INTO "leases" VALUES('b174ffb10605a9e8',5,0,'ann','start',NULL,1,NULL,1.70000002941011905672e+09,1.70000062941012811666e+09,'answered',NULL);
INSERT INTO "leases" VALUES('2c087431be81f39b',5,0,'bob','start',NULL,1,NULL,1.70000002947420811652e+09,1.70000062947421789168e+09,'answered',NULL);
INSERT INTO "leases" VALUES('a49c8219ea83be12',4,0,'ann','start',NULL,2,NULL,1.70000002953448796274e+09,1.70000062953449893e+09,'answered',NULL);
INSERT INTO "leases" VALUES('072e923735457ac8',4,0,'bob','start',NULL,2,NULL,1700000029.58618,1700000629.58619,'answered',NULL);
INSERT INTO "leases" VALUES('30620676bd55446a',11,0,'ann','start',NULL,3,NULL,1700000029.64619,1.70000062964620208736e+09,'answered',NULL);
INSERT INTO "leases" VALUES('3b69c173906d4543',11,0,'bob','start',NULL,3,NULL,1.70000002969414210325e+09,1.70000062969415402418e+09,'answered',NULL);
INSERT INTO "leases" VALUES('cf1d3de61e019998',13,0,'ann','start',NULL,4,NULL,1.70000002975824189184e+09,1.70000062975825309754e+09,'answered',NULL);
INSERT INTO "leases" VALUES('71cc298d74f0638b',13,0,'bob','start',NULL,4,NULL,1.70000002981046199803e+09,1.70000062981047296521e+09,'answered',NULL);
INSERT INTO "leases" VALUES('dcc818d30e771e1a',9,0,'ann','start',NULL,5,NULL,1.70000002986638593669e+09,1700000629.8664,'answered',NULL);
INSERT INTO "leases" VALUES('d154929a4bc96c02',9,0,'bob','start',NULL,5,NULL,1.70000002991417407992e+09,1.70000062991418290133e+09,'answered',NULL);
INSERT INTO "leases" VALUES('d25c483459ec4c44',9,0,'ann','start',NULL,5,NULL,1.70000003000387096404e+09,1.70000064667063093188e+09,'answered',NULL);
INSERT INTO "leases" VALUES('9dc375fb64f1a81a',1,0,'bob','start',NULL,6,NULL,1.70000003004579710958e+09,1.70000063004580402375e+09,'skipped',NULL);
INSERT INTO "leases" VALUES('7d65c1330af123e3',1,0,'cid','start',NULL,6,NULL,1.70000003007803201678e+09,1.70000063007803797719e+09,'open',NULL);
INSERT INTO "leases" VALUES('648ffc8827c684b4',19,0,'cid','start',NULL,7,NULL,1.70000003007872104647e+09,1.70000063007872700688e+09,'open',NULL);
INSERT INTO "leases" VALUES('aeab10ecc92afada-0000',5,7,'bob','sweep',NULL,0,NULL,1.70000004683763408655e+09,1.70000064683763408655e+09,'answered',NULL);
INSERT INTO "leases" VALUES('aeab10ecc92afada-0001',7,7,'bob','sweep',NULL,1,NULL,1.70000004683763408655e+09,1.70000064683763408655e+09,'answered',NULL);
INSERT INTO "leases" VALUES('aeab10ecc92afada-0002',11,7,'bob','sweep',NULL,2,NULL,1.70000004683763408655e+09,1.70000064683763408655e+09,'answered',NULL);
INSERT INTO "leases" VALUES('aeab10ecc92afada-0003',13,7,'bob','sweep',NULL,3,NULL,1.70000004683763408655e+09,1.70000064683763408655e+09,'answered',NULL);
CREATE TABLE notes (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	item INTEGER NOT NULL, 
	who TEXT NOT NULL, 
	at DOUBLE NOT NULL, 
	kind TEXT NOT NULL, 
	text TEXT NOT NULL, 
	answer TEXT, 
	answered_by TEXT, 
	answered_at DOUBLE, 
	FOREIGN KEY(item) REFERENCES items (id)
);
INSERT INTO "notes" VALUES(1,2,'ann',1700000046.76299,'label missing','two of them, I think',NULL,NULL,NULL);
INSERT INTO "notes" VALUES(2,3,'bob',1.70000004678739905349e+09,'unreadable','','looked at','eve',1.70000004680180692674e+09);
CREATE TABLE opinions (
	source TEXT NOT NULL, 
	item INTEGER NOT NULL, 
	labels BLOB NOT NULL, 
	scores BLOB, 
	until INTEGER NOT NULL, 
	PRIMARY KEY (source, item), 
	FOREIGN KEY(item) REFERENCES items (id)
);
INSERT INTO "opinions" VALUES('rules',2,X'0100000003000000',X'0000403F0000803E',7);
INSERT INTO "opinions" VALUES('rules',3,X'01000000',NULL,7);
CREATE TABLE questions (
	"plan" INTEGER NOT NULL, 
	item INTEGER NOT NULL, 
	label INTEGER NOT NULL, 
	rank INTEGER NOT NULL, 
	reason TEXT NOT NULL, 
	score DOUBLE, 
	remaining INTEGER NOT NULL, 
	beliefs BLOB, 
	words TEXT, 
	PRIMARY KEY ("plan", item, label), 
	FOREIGN KEY(item) REFERENCES items (id)
);
INSERT INTO "questions" VALUES(2,1,0,0,'overlap',NULL,1,NULL,NULL);
INSERT INTO "questions" VALUES(2,19,0,1,'overlap',NULL,1,NULL,NULL);
INSERT INTO "questions" VALUES(2,6,0,4,'overlap',NULL,1,NULL,NULL);
INSERT INTO "questions" VALUES(2,7,0,5,'overlap',NULL,1,NULL,NULL);
INSERT INTO "questions" VALUES(2,8,0,6,'overlap',NULL,1,NULL,NULL);
INSERT INTO "questions" VALUES(2,17,0,7,'start',NULL,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,20,0,8,'start',NULL,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,3,0,9,'start',NULL,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,21,0,10,'start',NULL,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,15,0,11,'start',NULL,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,12,0,12,'start',NULL,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,18,0,13,'strategy',0.0,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,10,0,14,'start',NULL,2,NULL,NULL);
INSERT INTO "questions" VALUES(2,14,0,15,'start',NULL,2,NULL,NULL);
CREATE TABLE sessions (
	digest TEXT NOT NULL, 
	who TEXT NOT NULL, 
	is_local BOOLEAN NOT NULL, 
	expires_at DOUBLE NOT NULL, 
	PRIMARY KEY (digest)
);
CREATE TABLE studio_annotations (
	source TEXT NOT NULL, 
	number TEXT NOT NULL, 
	event INTEGER, 
	state DOUBLE NOT NULL, 
	noted_at DOUBLE NOT NULL, 
	unique_id TEXT, 
	partial BOOLEAN NOT NULL, 
	gone TEXT, 
	PRIMARY KEY (source, number), 
	FOREIGN KEY(event) REFERENCES events (id)
);
CREATE TABLE studio_tasks (
	source TEXT NOT NULL, 
	number TEXT NOT NULL, 
	item INTEGER NOT NULL, 
	digest TEXT NOT NULL, 
	PRIMARY KEY (source, number), 
	FOREIGN KEY(item) REFERENCES items (id)
);
CREATE TABLE timings (
	event INTEGER NOT NULL, 
	seconds DOUBLE NOT NULL, 
	question TEXT NOT NULL, 
	by_key INTEGER NOT NULL, 
	by_search INTEGER NOT NULL, 
	by_suggestion INTEGER NOT NULL, 
	PRIMARY KEY (event), 
	FOREIGN KEY(event) REFERENCES events (id)
)
 WITHOUT ROWID

;
INSERT INTO "timings" VALUES(34,0.001,'item',1,2,3);
CREATE TABLE tokens (
	name TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	added_at DOUBLE NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "tokens" VALUES('label-studio','fb768322d149440f6df1fc1566ae5fd1f2ffaa676adfea88de31c4d9f21e07d8',1.70000004655885577197e+09);
CREATE TABLE trainings (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	state TEXT NOT NULL, 
	started_at DOUBLE NOT NULL, 
	finished_at DOUBLE, 
	seen_event INTEGER NOT NULL, 
	seen_change INTEGER NOT NULL, 
	message TEXT, 
	report JSON
);
INSERT INTO "trainings" VALUES(1,'good',1.70000002705098986624e+09,1.70000002760357451442e+09,0,1,NULL,'{"answers": 0, "f1": {"answers": 0, "f1": null, "low": null, "high": null, "items": 0, "entries": 0, "found": 0, "needed": 20}}');
INSERT INTO "trainings" VALUES(2,'good',1.70000003051477551461e+09,1.70000003090922427182e+09,31,6,NULL,'{"answers": 18, "base_rates": {"left": {"rate": 0.9166666666666666, "low": 0.6942544153110504, "high": 0.9996260029721623}, "l\u00f3w; \"2\"": {"rate": 0.35714285714285715, "low": 0.10427052332745364, "high": 0.6591979682991529}, "far away": {"rate": 0.6428571428571429, "low": 0.340802031700847, "high": 0.8957294766725463}}, "picks": {"ann": {"1": [0, 4], "2": [0, 1], "3": [2, 2]}, "bob": {"1": [0, 4], "2": [0, 1], "3": [2, 2]}}, "examples": {"rates": {"1": 0.916667, "2": 0.307692, "3": 0.647059, "6": 0.333333}}, "opinions": [], "labels": {"1": [10, 1, 2, null], "2": [3, 9, 0, 1.0], "3": [10, 6, 0, 1.0], "6": [1, 4, 0, null]}, "pairs": [["ann", "bob", 14, 14, 1.0], ["ann", "dan", 2, 2, 1.0], ["bob", "dan", 2, 2, 1.0]], "f1": {"answers": 18, "f1": null, "low": null, "high": null, "items": 6, "entries": 17, "found": 11, "needed": 20}, "calibration": null, "standing": {"over_random": null, "saved": null, "per_doubling": null, "sweeps": [], "advice": "go on: 6 random items say little, 20 are needed to judge by"}, "curve": null, "exhausted": true}');
CREATE TABLE users (
	name TEXT NOT NULL, 
	role TEXT NOT NULL, 
	added_at DOUBLE NOT NULL, 
	removed_at DOUBLE, 
	PRIMARY KEY (name)
);
INSERT INTO "users" VALUES('ann','annotator',1.70000004647575640682e+09,NULL);
INSERT INTO "users" VALUES('eve','admin',1.70000004653366923327e+09,NULL);
CREATE INDEX events_by_person ON events (who, id);
CREATE INDEX events_of_a_person ON events (item, who);
CREATE INDEX notes_on_an_item ON notes (item);
CREATE INDEX assignments_of_a_person ON assignments (who);
CREATE INDEX questions_in_order ON questions ("plan", rank);
CREATE INDEX leases_of_an_item ON leases (item, label);
CREATE INDEX leases_by_state ON leases (state, expires_at);
CREATE INDEX studio_annotations_by_event ON studio_annotations (event);
CREATE VIEW votes AS 
        SELECT event, item, label, who, reason, value FROM (
            SELECT e.id AS event, e.item, v.label, e.who, e.reason, v.value,
                   row_number() OVER (PARTITION BY e.item, v.label, e.who ORDER BY e.id DESC) AS latest
            FROM events e JOIN event_values v ON v.event = e.id
            WHERE e.kind = 'answer' AND NOT EXISTS (SELECT 1 FROM events u WHERE u.undoes = e.id)
        ) AS said WHERE latest = 1;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('changes',8);
INSERT INTO "sqlite_sequence" VALUES('trainings',2);
INSERT INTO "sqlite_sequence" VALUES('events',38);
INSERT INTO "sqlite_sequence" VALUES('notes',2);
COMMIT;
