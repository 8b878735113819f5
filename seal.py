import json,ctypes,sys
lib=ctypes.CDLL('libxxhash.so.0')
class H(ctypes.Structure): _fields_=[('lo',ctypes.c_uint64),('hi',ctypes.c_uint64)]
lib.XXH3_128bits.restype=H; lib.XXH3_128bits.argtypes=[ctypes.c_char_p,ctypes.c_size_t]
def checksum(b):
    h=lib.XXH3_128bits(b,len(b)); return 'xxh3:%016x%016x'%(h.hi,h.lo)
def seal(d):
    d=dict(d); d.pop('checksum',None)
    b=json.dumps(d,separators=(',',':'),ensure_ascii=False).encode()
    d['checksum']=checksum(b); return d
def edit(study,fn):
    p=study+'/study.json'; d=json.load(open(p)); d0=dict(d)
    assert seal(d0)['checksum']==d['checksum'], (seal(d0)['checksum'],d['checksum'])
    fn(d); d=seal(d)
    for q in (p,study+'/study.json.bak'): open(q,'w').write(json.dumps(d,indent=2))
if __name__=='__main__':
    ns={}; exec("def fn(d): "+sys.argv[2],ns); edit(sys.argv[1],ns["fn"])
